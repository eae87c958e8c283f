// @platformatic/kafka behind the verbs that every client of the compatibility tests offers.
'use strict'
const crypto = require('crypto')
const { Admin, Consumer, Producer, cooperativeStickyAssigner } = require('@platformatic/kafka')
const { bytes, text, rows, Reader, session, inputEnds } = require('./wire.js')

const TOPIC = 2
const SET = 0
const client = bootstrap => ({ clientId: 'compat', bootstrapBrokers: bootstrap.split(',') })

async function produce(bootstrap, topic, codec, extra) {
  const producer = new Producer({ ...client(bootstrap), compression: codec, acks: -1, idempotent: extra === 'idempotent' })
  let acked = 0
  let size = 0
  let messages = []
  const send = async () => {
    if (messages.length === 0) return
    await producer.send({ messages })
    acked += messages.length
    messages = []
    size = 0
  }
  for await (const [key, value, headers] of rows()) {
    const message = { topic, key: bytes(key) ?? undefined, value: bytes(value) ?? undefined }
    if (headers) message.headers = new Map(headers.map(([name, content]) => [Buffer.from(name), bytes(content)]))
    if (size + (value || '').length > 700000 || messages.length >= 2000) await send()
    size += (value || '').length
    messages.push(message)
  }
  await send()
  await producer.close()
  console.log(JSON.stringify({ acked, failed: 0 }))
}

async function partitions(admin, topic) {
  const metadata = await admin.metadata({ topics: [topic], forceUpdate: true })
  return metadata.topics.get(topic).partitionsCount
}

// The offset of every partition at a time; -1n is the end, -2n the start.
async function offsets(admin, topic, at) {
  const wanted = Array.from({ length: await partitions(admin, topic) }, (_, p) => ({ partitionIndex: p, timestamp: at }))
  const [answer] = await admin.listOffsets({ topics: [{ name: topic, partitions: wanted }] })
  return new Map(answer.partitions.map(p => [p.partitionIndex, p.offset]))
}

async function read(bootstrap, topic, dump) {
  const admin = new Admin(client(bootstrap))
  const reader = new Reader(dump)
  const starts = await offsets(admin, topic, -2n)
  const ends = await offsets(admin, topic, -1n)
  for (const [partition, end] of ends) {
    reader.partition(partition)
    if (starts.get(partition) === end) ends.delete(partition)
  }
  const groupId = 'read-' + crypto.randomUUID()
  const consumer = new Consumer({ ...client(bootstrap), groupId, autocommit: false, maxWaitTime: 500 })
  if (ends.size > 0) {
    const stream = await consumer.consume({ topics: [topic], mode: 'earliest' })
    for await (const m of stream) {
      const headers = m.headerEntries.map(([name, value]) => [text(name), text(value)])
      reader.add(m.partition, m.offset, Number(m.timestamp), m.key, m.value, headers)
      if (m.offset + 1n >= (ends.get(m.partition) ?? 0n)) ends.delete(m.partition)
      if (ends.size === 0) break
    }
  }
  await consumer.close(true)
  await admin.close()
  await reader.close()
}

async function group(bootstrap, topic, groupId, mode, instance) {
  const cooperative = mode === 'cooperative'
  const timeout = instance ? 45000 : 10000 // long enough for a restart on a busy machine
  const consumer = new Consumer({
    ...client(bootstrap), groupId, autocommit: 200, maxWaitTime: 500, sessionTimeout: timeout, rebalanceTimeout: timeout, heartbeatInterval: 500,
    groupInstanceId: instance || undefined,
    // The rules are its own; the name is the one that other clients give theirs, so that they can share a group.
    protocols: [{ name: cooperative ? 'cooperative-sticky' : 'range', version: 1 }],
    partitionAssigner: cooperative ? cooperativeStickyAssigner : undefined
  })
  consumer.on('consumer:group:join', ({ assignments }) => {
    const own = (assignments || []).filter(a => a.topic === topic).flatMap(a => a.partitions).sort((a, b) => a - b)
    console.log('assigned ' + JSON.stringify(own).replaceAll(',', ', '))
  })
  const stream = await consumer.consume({ topics: [topic], mode: 'committed', fallbackMode: 'earliest' })
  inputEnds().then(() => consumer.close(true))
  for await (const m of stream) {
    console.log(`record ${m.partition} ${m.offset}`)
  }
  console.log('closed')
}

async function adminSession(bootstrap) {
  const admin = new Admin(client(bootstrap))
  const plain = found => Object.fromEntries(Array.from(found, ([p, offset]) => [p, Number(offset)]))
  await session({
    create: async (topic, count, settings) => {
      await admin.createTopics({ topics: [topic], partitions: count, replicas: 1, configs: Object.entries(settings).map(([name, value]) => ({ name, value })) })
    },
    topics: () => admin.listTopics(),
    describe: topic => partitions(admin, topic),
    delete: topic => admin.deleteTopics({ topics: [topic] }),
    configs: async topic => {
      const [found] = await admin.describeConfigs({ resources: [{ resourceType: TOPIC, resourceName: topic }] })
      return Object.fromEntries(found.configs.map(c => [c.name, c.value]))
    },
    alter: (topic, settings) => admin.incrementalAlterConfigs({
      resources: [{
        resourceType: TOPIC, resourceName: topic, configs: Object.entries(settings).map(([name, value]) => ({ name, value, configOperation: SET }))
      }]
    }),
    grow: (topic, count) => admin.createPartitions({ topics: [{ name: topic, count, assignments: null }] }),
    truncate: async (topic, partition, offset) => {
      await admin.deleteRecords({ topics: [{ name: topic, partitions: [{ partition, offset: BigInt(offset) }] }] })
    },
    times: async (topic, at) => plain(await offsets(admin, topic, BigInt(at))),
    groups: async () => Array.from((await admin.listGroups()).keys()),
    group: async id => {
      const found = (await admin.describeGroups({ groups: [id] })).get(id)
      return [found.state, found.members.size]
    },
    committed: async (id, topic) => {
      const [found] = await admin.listConsumerGroupOffsets({ groups: [id] })
      return plain(found.topics.find(t => t.name === topic).partitions.map(p => [p.partitionIndex, p.committedOffset]))
    },
    commit: (groupId, topic, wanted) => admin.alterConsumerGroupOffsets({
      groupId, topics: [{ name: topic, partitionOffsets: Object.entries(wanted).map(([p, offset]) => ({ partition: Number(p), offset: BigInt(offset) })) }]
    }),
    forget: id => admin.deleteGroups({ groups: [id] })
  })
  await admin.close()
}

const [verb, ...args] = process.argv.slice(2)
const verbs = { produce, digest: (b, t) => read(b, t, false), dump: (b, t) => read(b, t, true), group, admin: adminSession }
// An end before the last bytes are through the pipe would cut them off.
verbs[verb](...args).then(() => process.stdout.write('', () => process.exit(0)), error => { console.error(error); process.exit(1) })
