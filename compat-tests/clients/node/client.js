// kafkajs behind the verbs that every client of the compatibility tests offers.
'use strict'
const crypto = require('crypto')
const readline = require('readline')
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require('kafkajs')
const snappy = require('snappy')
const lz4 = require('lz4-napi')
const { Encoder, Decoder } = require('@toondepauw/node-zstd')

const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0])

async function unsnappy(buffer) {
  if (!buffer.subarray(0, 8).equals(XERIAL)) return snappy.uncompress(buffer)
  const parts = []
  for (let at = 16; at < buffer.length;) {
    const size = buffer.readUInt32BE(at)
    parts.push(await snappy.uncompress(buffer.subarray(at + 4, at + 4 + size)))
    at += 4 + size
  }
  return Buffer.concat(parts)
}

CompressionCodecs[CompressionTypes.Snappy] = () => ({ compress: e => snappy.compress(e.buffer), decompress: unsnappy })
CompressionCodecs[CompressionTypes.LZ4] = () => ({ compress: async e => lz4.compressFrame(e.buffer), decompress: async b => lz4.decompressFrame(b) })
CompressionCodecs[CompressionTypes.ZSTD] = () => ({ compress: async e => new Encoder(3).encode(e.buffer), decompress: async b => new Decoder().decode(b) })
const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, lz4: CompressionTypes.LZ4, zstd: CompressionTypes.ZSTD }

const bytes = text => (text === null || text === undefined ? null : Buffer.from(text))
const text = buffer => (buffer === null || buffer === undefined ? null : buffer.toString())
const connect = bootstrap => new Kafka({ clientId: 'compat', brokers: bootstrap.split(','), logLevel: logLevel.ERROR })

async function produce(bootstrap, topic, codec) {
  const producer = connect(bootstrap).producer({ idempotent: false, maxInFlightRequests: 1 })
  await producer.connect()
  let acked = 0
  let messages = []
  const send = async () => {
    if (messages.length === 0) return
    const batch = messages
    messages = []
    const answers = await producer.send({ topic, compression: CODECS[codec], acks: -1, messages: batch })
    for (const answer of answers) if (answer.errorCode !== 0) throw new Error(JSON.stringify(answer))
    acked += batch.length
  }
  for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const [key, value, headers] = JSON.parse(line)
    const message = { key: bytes(key), value: bytes(value) }
    if (headers) {
      message.headers = {}
      for (const [name, content] of headers) {
        const before = message.headers[name]
        message.headers[name] = before === undefined ? bytes(content) : [].concat(before, bytes(content))
      }
    }
    messages.push(message)
    if (messages.length >= 2000) await send()
  }
  await send()
  await producer.disconnect()
  console.log(JSON.stringify({ acked, failed: 0 }))
}

function add(hash, value) {
  const size = Buffer.alloc(4)
  size.writeInt32BE(value === null ? -1 : value.length)
  hash.update(size)
  if (value !== null) hash.update(value)
}

async function read(bootstrap, topic, dump) {
  const kafka = connect(bootstrap)
  const admin = kafka.admin()
  await admin.connect()
  const ends = new Map()
  const digests = new Map()
  for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
    digests.set(partition, { count: 0, hash: crypto.createHash('sha256') })
    if (BigInt(low) < BigInt(high)) ends.set(partition, BigInt(high))
  }
  const group = 'read-' + crypto.randomUUID()
  const consumer = kafka.consumer({ groupId: group, maxBytesPerPartition: 4 << 20 })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const out = []
  if (ends.size > 0) {
    await new Promise((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error('no end in sight')), 300000)
      consumer.on(consumer.events.CRASH, e => reject(e.payload.error))
      consumer.run({
        autoCommit: false,
        partitionsConsumedConcurrently: 8,
        eachBatch: async ({ batch }) => {
          const digest = digests.get(batch.partition)
          for (const m of batch.messages) {
            digest.count++
            if (dump) {
              const headers = []
              for (const [name, content] of Object.entries(m.headers)) for (const one of [].concat(content)) headers.push([name, text(one)])
              out.push(JSON.stringify([batch.partition, Number(m.offset), Number(m.timestamp), text(m.key), text(m.value), headers]))
            } else {
              const offset = Buffer.alloc(8)
              offset.writeBigInt64BE(BigInt(m.offset))
              digest.hash.update(offset)
              add(digest.hash, m.key)
              add(digest.hash, m.value)
            }
          }
          if (BigInt(batch.lastOffset()) + 1n >= (ends.get(batch.partition) ?? 0n)) ends.delete(batch.partition)
          if (ends.size === 0) { clearTimeout(limit); resolve() }
        }
      })
    })
  }
  await consumer.disconnect()
  await admin.deleteGroups([group])
  await admin.disconnect()
  if (!dump) {
    const answer = {}
    for (const [partition, d] of digests) answer[partition] = [d.count, d.hash.digest('hex')]
    out.push(JSON.stringify(answer))
  }
  process.stdout.write(out.join('\n') + '\n')
}

async function group(bootstrap, topic, id) {
  const consumer = connect(bootstrap).consumer({ groupId: id, sessionTimeout: 10000, rebalanceTimeout: 10000 })
  consumer.on(consumer.events.GROUP_JOIN, e => {
    console.log('assigned ' + JSON.stringify((e.payload.memberAssignment[topic] || []).sort((a, b) => a - b)).replaceAll(',', ', '))
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    autoCommitInterval: 200,
    eachMessage: async ({ partition, message }) => console.log(`record ${partition} ${message.offset}`)
  })
  await new Promise(resolve => process.stdin.on('end', resolve).resume())
  await consumer.disconnect()
  console.log('closed')
}

const [verb, ...args] = process.argv.slice(2)
const verbs = { produce, digest: (b, t) => read(b, t, false), dump: (b, t) => read(b, t, true), group }
// An end before the last bytes are through the pipe would cut them off.
verbs[verb](...args).then(() => process.stdout.write('', () => process.exit(0)), error => { console.error(error); process.exit(1) })
