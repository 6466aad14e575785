import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import kafkajs from 'kafkajs'
import { startBarnabas } from './barnabas.mjs'

const broker = await startBarnabas()
const kafka = new kafkajs.Kafka({
  brokers: [broker.bootstrapServers],
  logLevel: kafkajs.logLevel.NOTHING,
  retry: { initialRetryTime: 50, retries: 20 },
})

afterEach(() => broker.clear())
after(() => broker.stop())

async function place(...orders) {
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic: 'orders', messages: orders.map(value => ({ value })) })
  await producer.disconnect()
}

// A consumer that commits each order before the next.
class Orders {
  values = []
  joins = 0
  #waiting = () => {}

  async start() {
    this.consumer = kafka.consumer({
      groupId: 'orders', heartbeatInterval: 200, maxWaitTimeInMs: 100,
    })
    const { GROUP_JOIN } = this.consumer.events
    this.consumer.on(GROUP_JOIN, () => { this.joins += 1; this.#waiting() })
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

  async haveRead(...values) {
    await this.until(() => this.values.length >= values.length)
    assert.deepEqual(this.values, values)
  }
}

async function reading(work) {
  const orders = new Orders()
  await orders.start()
  try {
    await work(orders)
  } finally {
    await orders.consumer.disconnect()
  }
}

test('a commit that is refused is made again', async () => {
  await broker.createTopic('orders')
  const fault = await broker.addFault({
    action: 'error', api: 'OFFSET_COMMIT', error: 'REQUEST_TIMED_OUT', skip: 1,
  })
  await place('a', 'b', 'c')
  await reading(orders => orders.haveRead('a', 'b', 'c'))
  assert.equal(await fault.hits(), 1)
  assert.equal((await broker.requests('OFFSET_COMMIT')).length, 4)
})

test('a member whose session has passed joins again', async () => {
  await broker.createTopic('orders')
  await place('before')
  await reading(async orders => {
    await orders.haveRead('before')
    await broker.advance('1 hour')
    await orders.until(() => orders.joins === 2)
    await place('after')
    await orders.haveRead('before', 'after')
  })
})

test('a broker that crashed comes back with what it had', async () => {
  await broker.createTopic('orders')
  await place('kept')
  await broker.kill()
  await broker.start()
  await reading(orders => orders.haveRead('kept'))
})

test('a command that makes no sense is refused in one sentence', async () => {
  await assert.rejects(broker.addFault({ action: 'error', api: 'OFFSET_COMIT' }), {
    message: "POST /control/faults: `api` is 'OFFSET_COMIT', not the name of an API, as OFFSET_COMMIT",
  })
})
