// An application's tests, in JavaScript, against a broker that misbehaves when it is told to.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, test } from 'node:test'
import kafkajs from 'kafkajs'
import { addFault, advance, ask, hitsOf, requestsOf } from './control.mjs'

const { bootstrap_servers: broker } = await ask('GET', '/broker')
const kafka = new kafkajs.Kafka({
  clientId: 'orders',
  brokers: [broker],
  logLevel: kafkajs.logLevel.NOTHING,
  retry: { initialRetryTime: 50, retries: 20 },
})

afterEach(() => ask('POST', '/clear'))

// Reads order after order and commits each before the next; `expect` waits for so many.
class Orders {
  values = []
  joins = 0
  #waiting = () => {}

  async start(groupId) {
    this.consumer = kafka.consumer({
      groupId, sessionTimeout: 30_000, heartbeatInterval: 200, maxWaitTimeInMs: 100,
    })
    this.consumer.on(this.consumer.events.GROUP_JOIN, () => { this.joins += 1; this.#waiting() })
    await this.consumer.connect()
    await this.consumer.subscribe({ topics: ['orders'], fromBeginning: true })
    await this.consumer.run({ autoCommit: false, eachMessage: each => this.#take(each) })
  }

  async #take({ topic, partition, message }) {
    const offset = String(Number(message.offset) + 1)
    await this.consumer.commitOffsets([{ topic, partition, offset }])
    this.values.push(message.value.toString())
    this.#waiting()
  }

  async until(condition) {
    while (!condition()) await new Promise(resolve => { this.#waiting = resolve })
  }
}

async function place(...values) {
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic: 'orders', messages: values.map(value => ({ value })) })
  await producer.disconnect()
}

async function reading(work) {
  const orders = new Orders()
  await orders.start('orders')
  try {
    await work(orders)
  } finally {
    await orders.consumer.disconnect()
  }
}

test('a third commit that is refused is made again', async () => {
  await ask('POST', '/topics', { name: 'orders' })
  await ask('DELETE', '/requests')
  const fault = await addFault({
    action: 'error', api: 'OFFSET_COMMIT', error: 'REQUEST_TIMED_OUT', skip: 2,
  })
  await place('a', 'b', 'c', 'd', 'e')
  await reading(async orders => {
    await orders.until(() => orders.values.length === 5)
    assert.deepEqual(orders.values, ['a', 'b', 'c', 'd', 'e'])
  })
  assert.equal(await hitsOf(fault), 1)
  const commits = await requestsOf('OFFSET_COMMIT')
  assert.equal(commits.length, 6)
  const codes = commits.map(each => each.response.topics[0].partitions[0].error_code)
  assert.deepEqual(codes, [0, 0, 7, 0, 0, 0])
})

test('a member whose session has passed joins again', async () => {
  await ask('POST', '/topics', { name: 'orders' })
  await place('before')
  await reading(async orders => {
    await orders.until(() => orders.values.length === 1)
    await advance('1 hour')
    await orders.until(() => orders.joins === 2)
    await place('after')
    await orders.until(() => orders.values.length === 2)
    assert.deepEqual(orders.values, ['before', 'after'])
  })
})

test('a broker that crashed comes back with what it had', async () => {
  await ask('POST', '/topics', { name: 'orders' })
  await place('kept')
  await ask('POST', '/broker/kill')
  assert.equal((await ask('GET', '/broker')).running, false)
  await ask('POST', '/broker/start')
  await reading(orders => orders.until(() => orders.values.includes('kept')))
})

test('a snapshot is a place to go back to', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'orders-'))
  await ask('POST', '/topics', { name: 'orders' })
  await place('one')
  await ask('POST', '/snapshot', { directory: join(folder, 'one order') })
  await place('two')
  await ask('POST', '/restore', { directory: join(folder, 'one order') })
  await place('three')
  await reading(async orders => {
    await orders.until(() => orders.values.length === 2)
    assert.deepEqual(orders.values, ['one', 'three'])
  })
  await rm(folder, { recursive: true })
})

test('a command that makes no sense is refused in one sentence', async () => {
  const wrong = addFault({ action: 'error', api: 'OFFSET_COMIT' })
  const sentence =
    "POST /control/faults: `api` is 'OFFSET_COMIT', not the name of an API, as OFFSET_COMMIT"
  await assert.rejects(wrong, { message: sentence })
})
