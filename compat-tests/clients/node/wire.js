// What the Node clients share: rows in, records and digests out, and the commands of an admin session.
'use strict'
const crypto = require('crypto')
const readline = require('readline')

const bytes = text => (text === null || text === undefined ? null : Buffer.from(text))
const text = buffer => (buffer === null || buffer === undefined ? null : buffer.toString())
const lines = () => readline.createInterface({ input: process.stdin, crlfDelay: Infinity })

async function * rows() {
  for await (const line of lines()) yield JSON.parse(line)
}

function add(hash, value) {
  const size = Buffer.alloc(4)
  size.writeInt32BE(value === null || value === undefined ? -1 : value.length)
  hash.update(size)
  if (value) hash.update(value)
}

class Reader {
  constructor(dump) {
    this.dump = dump
    this.digests = new Map()
    this.out = []
  }

  partition(number) {
    this.digests.set(number, { count: 0, hash: crypto.createHash('sha256') })
  }

  add(partition, offset, timestamp, key, value, headers) {
    const digest = this.digests.get(partition)
    digest.count++
    if (this.dump) {
      this.out.push(JSON.stringify([partition, Number(offset), timestamp, text(key), text(value), headers]))
      return
    }
    const at = Buffer.alloc(8)
    at.writeBigInt64BE(offset)
    digest.hash.update(at)
    add(digest.hash, key)
    add(digest.hash, value)
  }

  close() {
    if (!this.dump) {
      const answer = {}
      for (const [partition, d] of this.digests) answer[partition] = [d.count, d.hash.digest('hex')]
      this.out.push(JSON.stringify(answer))
    }
    return new Promise(resolve => process.stdout.write(this.out.join('\n') + '\n', resolve))
  }
}

async function session(commands) {
  for await (const [name, ...args] of rows()) {
    let answer
    try {
      if (!(name in commands)) throw new Error('unknown command ' + name)
      const value = await commands[name](...args)
      answer = { ok: value === undefined ? null : value }
    } catch (error) {
      answer = { error: [error, ...(error.errors || [])].map(String).join('; ') }
    }
    console.log(JSON.stringify(answer))
  }
}

const inputEnds = () => new Promise(resolve => process.stdin.on('end', resolve).resume())

module.exports = { bytes, text, rows, Reader, session, inputEnds }
