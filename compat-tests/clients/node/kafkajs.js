// kafkajs behind the verbs that every client of the compatibility tests offers.
'use strict'
const crypto = require('crypto')
const { Kafka, CompressionTypes, CompressionCodecs, PartitionAssigners, logLevel } = require('kafkajs')
const snappy = require('snappy')
const lz4 = require('lz4-napi')
const { Encoder, Decoder } = require('@toondepauw/node-zstd')
const { bytes, text, rows, Reader, session, inputEnds } = require('./wire.js')

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

const connect = bootstrap => new Kafka({ clientId: 'compat', brokers: bootstrap.split(','), logLevel: logLevel.ERROR })

async function produce(bootstrap, topic, codec, extra) {
  const producer = connect(bootstrap).producer({ idempotent: extra === 'idempotent', maxInFlightRequests: 1 })
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
  let size = 0
  for await (const [key, value, headers] of rows()) {
    const message = { key: bytes(key), value: bytes(value) }
    if (headers) {
      message.headers = {}
      for (const [name, content] of headers) {
        const before = message.headers[name]
        message.headers[name] = before === undefined ? bytes(content) : [].concat(before, bytes(content))
      }
    }
    size += (value || '').length
    if (size > 700000 || messages.length >= 2000) {
      await send()
      size = (value || '').length
    }
    messages.push(message)
  }
  await send()
  await producer.disconnect()
  console.log(JSON.stringify({ acked, failed: 0 }))
}

async function read(bootstrap, topic, dump) {
  const kafka = connect(bootstrap)
  const admin = kafka.admin()
  await admin.connect()
  const ends = new Map()
  const reader = new Reader(dump)
  for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
    reader.partition(partition)
    if (BigInt(low) < BigInt(high)) ends.set(partition, BigInt(high))
  }
  const group = 'read-' + crypto.randomUUID()
  const consumer = kafka.consumer({ groupId: group, maxBytesPerPartition: 4 << 20 })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  if (ends.size > 0) {
    await new Promise((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error('no end in sight')), 300000)
      consumer.on(consumer.events.CRASH, e => reject(e.payload.error))
      consumer.run({
        autoCommit: false,
        partitionsConsumedConcurrently: 8,
        eachBatch: async ({ batch }) => {
          for (const m of batch.messages) {
            const headers = []
            for (const [name, content] of Object.entries(m.headers)) for (const one of [].concat(content)) headers.push([name, text(one)])
            reader.add(batch.partition, BigInt(m.offset), Number(m.timestamp), m.key, m.value, headers)
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
  await reader.close()
}

// The rules are kafkajs' own; the name is the one that other clients give theirs, so that they can share a group.
const range = config => ({ ...PartitionAssigners.roundRobin(config), name: 'range' })

async function group(bootstrap, topic, id) {
  const consumer = connect(bootstrap).consumer({ groupId: id, sessionTimeout: 10000, rebalanceTimeout: 10000, heartbeatInterval: 500, partitionAssigners: [range] })
  consumer.on(consumer.events.GROUP_JOIN, e => {
    console.log('assigned ' + JSON.stringify((e.payload.memberAssignment[topic] || []).sort((a, b) => a - b)).replaceAll(',', ', '))
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    autoCommitInterval: 200,
    eachMessage: async ({ partition, message }) => console.log(`record ${partition} ${message.offset}`)
  })
  await inputEnds()
  await consumer.disconnect()
  console.log('closed')
}

async function admin(bootstrap) {
  const admin = connect(bootstrap).admin()
  await admin.connect()
  const topicOf = (topic, entries) => ({ type: 2, name: topic, ...entries })
  const offsets = list => Object.fromEntries(list.map(({ partition, offset }) => [partition, Number(offset)]))
  await session({
    create: async (topic, count, settings) => {
      const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }))
      const made = await admin.createTopics({ topics: [{ topic, numPartitions: count, replicationFactor: 1, configEntries }] })
      if (!made) throw new Error('the topic exists')
    },
    topics: () => admin.listTopics(),
    describe: async topic => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length,
    delete: topic => admin.deleteTopics({ topics: [topic] }),
    configs: async topic => {
      const answer = await admin.describeConfigs({ resources: [topicOf(topic, {})], includeSynonyms: false })
      return Object.fromEntries(answer.resources[0].configEntries.map(e => [e.configName, e.configValue]))
    },
    alter: (topic, settings) => admin.alterConfigs({
      validateOnly: false, resources: [topicOf(topic, { configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })) })]
    }),
    grow: (topic, count) => admin.createPartitions({ topicPartitions: [{ topic, count }] }),
    truncate: async (topic, partition, offset) => {
      await admin.fetchTopicOffsets(topic) // it deletes records only of topics that it has met
      await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] })
    },
    times: async (topic, at) => {
      if (at >= 0) return offsets(await admin.fetchTopicOffsetsByTimestamp(topic, at))
      const found = await admin.fetchTopicOffsets(topic)
      return offsets(found.map(o => ({ partition: o.partition, offset: at === -1 ? o.high : o.low })))
    },
    groups: async () => (await admin.listGroups()).groups.map(g => g.groupId),
    group: async id => {
      const [found] = (await admin.describeGroups([id])).groups
      return [found.state, found.members.length]
    },
    committed: async (groupId, topic) => offsets((await admin.fetchOffsets({ groupId, topics: [topic] }))[0].partitions),
    commit: (groupId, topic, wanted) => admin.setOffsets({
      groupId, topic, partitions: Object.entries(wanted).map(([partition, offset]) => ({ partition: Number(partition), offset: String(offset) }))
    }),
    forget: id => admin.deleteGroups([id])
  })
  await admin.disconnect()
}

async function transactions(bootstrap, transactionalId, timeout) {
  const producer = connect(bootstrap).producer({ transactionalId, transactionTimeout: Number(timeout), idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  let open
  await session({
    begin: async () => { open = await producer.transaction() },
    send: async (topic, partition, value) => { await open.send({ topic, acks: -1, messages: [{ value, partition }] }) },
    flush: async () => {},
    offsets: (consumerGroupId, topic, at) => open.sendOffsets({
      consumerGroupId, topics: [{ topic, partitions: Object.entries(at).map(([partition, offset]) => ({ partition: Number(partition), offset: String(offset) })) }]
    }),
    commit: () => open.commit(),
    abort: () => open.abort()
  })
  await producer.disconnect()
}

// kafkajs reads committed records unless told otherwise. It does not say where it stands behind a marker, so the last
// value is known by the test, which sends it last into every partition.
async function committed(bootstrap, topic, last) {
  const kafka = connect(bootstrap)
  const consumer = kafka.consumer({ groupId: 'read-' + crypto.randomUUID() })
  const values = {}
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const admin = kafka.admin()
  await admin.connect()
  const partitions = (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.map(p => p.partitionId)
  await admin.disconnect()
  for (const partition of partitions) values[partition] = []
  await new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error('no end in sight: ' + JSON.stringify(values))), 60000)
    consumer.on(consumer.events.CRASH, e => reject(e.payload.error))
    consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        values[partition].push(text(message.value))
        if (partitions.every(p => values[p].at(-1) === last)) { clearTimeout(limit); resolve() }
      }
    })
  })
  await consumer.disconnect()
  console.log(JSON.stringify(values))
}

// Copies a topic into another exactly once: what is read, and how far, is one transaction with what is written.
async function copy(bootstrap, source, target, groupId, transactionalId, partition, size) {
  const kafka = connect(bootstrap)
  const producer = kafka.producer({ transactionalId, idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  // What another copier of this id left open is over when this producer has its epoch; only then are offsets asked for.
  await (await producer.transaction()).abort()
  const consumer = kafka.consumer({ groupId, sessionTimeout: 2000, rebalanceTimeout: 4000, heartbeatInterval: 300, retry: { retries: 0 } })
  await consumer.connect()
  await consumer.subscribe({ topics: [source], fromBeginning: true })
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, e => reject(e.payload.error))
    consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async ({ batch, resolveOffset, heartbeat }) => {
        for (let at = 0; at < batch.messages.length;) {
          const some = batch.messages.slice(at, at + Number(size))
          const last = some.at(-1).offset
          const open = await producer.transaction()
          await open.send({ topic: target, acks: -1, messages: some.map(m => ({ value: m.value, partition: batch.partition })) })
          const partitions = [{ partition: batch.partition, offset: String(BigInt(last) + 1n) }]
          await open.sendOffsets({ consumerGroupId: groupId, topics: [{ topic: source, partitions }] })
          if (Math.random() < 1 / 3) {
            await open.abort()
          } else {
            await open.commit()
            resolveOffset(last)
            at += some.length
          }
          await heartbeat()
        }
      }
    }).catch(reject)
  })
}

const [verb, ...args] = process.argv.slice(2)
const verbs = { produce, digest: (b, t) => read(b, t, false), dump: (b, t) => read(b, t, true), group, admin, transactions, committed, copy }
// An end before the last bytes are through the pipe would cut them off.
verbs[verb](...args).then(() => process.stdout.write('', () => process.exit(0)), error => { console.error(error); process.exit(1) })
