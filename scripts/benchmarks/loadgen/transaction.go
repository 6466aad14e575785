package main

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Errors that a client meets in passing: it asks again.
const (
	coordinatorLoading      = 14
	coordinatorNotAvailable = 15
	notCoordinator          = 16
	concurrentTransactions  = 51
)

const askAgainAfter = time.Millisecond

// again calls until the error is none that passes, then checks it.
func again(where string, call func() int16) {
	for {
		switch errorCode := call(); errorCode {
		case coordinatorLoading, coordinatorNotAvailable, notCoordinator, concurrentTransactions:
			time.Sleep(askAgainAfter)
		default:
			check(where, errorCode)
			return
		}
	}
}

// transactor is a transactional producer of one connection, of TV1 or TV2: clients of TV1 say
// which partitions they add, those of TV2 write, and get a new epoch with every end.
type transactor struct {
	c          *connection
	id         string
	topic      string
	partitions int
	records    int
	adds       bool
	producerID int64
	epoch      int16
	sequence   int32
	frame      []byte
	batches    [][]byte
}

func newTransactor(c *connection, o options, id string) *transactor {
	t := &transactor{c: c, id: id, topic: o.topic, partitions: o.partitions, adds: o.version < 2}
	t.records = o.records / o.partitions
	findTransactionCoordinator(c, id)
	again("InitProducerId", t.init)
	t.encode(o)
	return t
}

func (t *transactor) init() int16 {
	e := request(22, 1, false)
	e.string(t.id)
	e.int32(60_000)
	d := t.c.call(e.sealed())
	d.int32()
	errorCode := d.int16()
	t.producerID, t.epoch = d.int64(), d.int16()
	return errorCode
}

// encode prepares the one Produce of each transaction, with a batch for every partition.
func (t *transactor) encode(o options) {
	batch, _ := recordBatch(t.records, o.valueBytes, o.timestampMs, false)
	version := int16(12)
	if t.adds {
		version = 11
	}
	e := request(0, version, true)
	e.compactString(t.id)
	e.int16(-1)
	e.int32(30_000)
	e.uvarint(2)
	e.compactString(t.topic)
	e.uvarint(uint64(t.partitions) + 1)
	ends := make([]int, t.partitions)
	for partition := range t.partitions {
		e.int32(int32(partition))
		e.compactBytes(batch)
		ends[partition] = len(e.frame)
		e.noTags()
	}
	e.noTags()
	e.noTags()
	t.frame = e.sealed()
	for _, end := range ends {
		t.batches = append(t.batches, t.frame[end-len(batch):end])
	}
}

// run is one transaction, from its beginning until the commit is answered.
func (t *transactor) run() {
	if t.adds {
		again("AddPartitionsToTxn", t.addPartitions)
	}
	t.stamp()
	again("Produce", t.produce)
	if t.adds {
		again("EndTxn", t.end)
	} else {
		again("EndTxn", t.endWithNewEpoch)
	}
}

func (t *transactor) stamp() {
	for _, batch := range t.batches {
		binary.BigEndian.PutUint16(batch[batchAttributesAt:], isTransactional)
		binary.BigEndian.PutUint64(batch[producerIDAt:], uint64(t.producerID))
		binary.BigEndian.PutUint16(batch[producerEpochAt:], uint16(t.epoch))
		binary.BigEndian.PutUint32(batch[baseSequenceAt:], uint32(t.sequence))
		checksum(batch)
	}
	t.sequence += int32(t.records)
}

func (t *transactor) addPartitions() int16 {
	e := request(24, 2, false)
	e.string(t.id)
	e.int64(t.producerID)
	e.int16(t.epoch)
	e.int32(1)
	e.string(t.topic)
	e.int32(int32(t.partitions))
	for partition := range t.partitions {
		e.int32(int32(partition))
	}
	d := t.c.call(e.sealed())
	d.int32()
	d.int32()
	d.string()
	return firstError(d, int(d.int32()), func() {})
}

func (t *transactor) produce() int16 {
	d := t.c.call(t.frame)
	d.tags()
	d.uvarint()
	d.compact()
	return firstError(d, d.uvarint()-1, func() {
		d.take(24) // the base offset, the time of the append, the log's start
		if d.uvarint() > 1 {
			panic("Produce: the broker refused single records")
		}
		d.compact()
		d.tags()
	})
}

// firstError reads an error per partition, and the rest of each.
func firstError(d *decoder, partitions int, rest func()) int16 {
	var first int16
	for range partitions {
		d.int32()
		if errorCode := d.int16(); first == 0 {
			first = errorCode
		}
		rest()
	}
	return first
}

func (t *transactor) end() int16 {
	e := request(26, 2, false)
	e.string(t.id)
	e.int64(t.producerID)
	e.int16(t.epoch)
	e.int8(1)
	d := t.c.call(e.sealed())
	d.int32()
	return d.int16()
}

func (t *transactor) endWithNewEpoch() int16 {
	e := request(26, 5, true)
	e.compactString(t.id)
	e.int64(t.producerID)
	e.int16(t.epoch)
	e.int8(1)
	e.noTags()
	d := t.c.call(e.sealed())
	d.tags()
	d.int32()
	errorCode := d.int16()
	if errorCode == 0 {
		t.producerID, t.epoch, t.sequence = d.int64(), d.int16(), 0
	}
	return errorCode
}

func findTransactionCoordinator(c *connection, id string) {
	again("FindCoordinator", func() int16 {
		e := request(10, 2, false)
		e.string(id)
		e.int8(1)
		d := c.call(e.sealed())
		d.int32()
		return d.int16()
	})
}

// transactions commits one after the other: the time of each until its commit is answered.
func transactions(o options, index int, deadline time.Time) *tally {
	c := dial(o.address, 4096)
	defer c.socket.Close()
	producer := newTransactor(c, o, fmt.Sprintf("%s-%d", o.topic, index))
	t := &tally{}
	for o.goesOn(t.bytes, deadline) {
		started := time.Now()
		producer.run()
		t.add(started, int64(o.records), int64(len(producer.frame)))
		time.Sleep(time.Duration(o.pauseMs * float64(time.Millisecond)))
	}
	return t
}

// manyIDs commits a transaction of each of so many transactional ids.
func manyIDs(o options, _ int, deadline time.Time) *tally {
	c := dial(o.address, 4096)
	defer c.socket.Close()
	t := &tally{}
	for index := range o.ids {
		started := time.Now()
		newTransactor(c, o, fmt.Sprintf("%s-%d", o.topic, index)).run()
		t.add(started, int64(o.records), 0)
	}
	return t
}

// describeIDs asks for all of those ids in one request until every one of them is described.
func describeIDs(o options, _ int, deadline time.Time) *tally {
	c := dial(o.address, 4096)
	defer c.socket.Close()
	e := request(65, 0, true)
	e.uvarint(uint64(o.ids) + 1)
	for index := range o.ids {
		e.compactString(fmt.Sprintf("%s-%d", o.topic, index))
	}
	e.noTags()
	frame := e.sealed()
	t := &tally{}
	for started := time.Now(); time.Now().Before(deadline); time.Sleep(askAgainAfter) {
		if missing := undescribed(c.call(frame)); missing == 0 {
			t.add(started, 0, 0)
			return t
		}
	}
	panic("DescribeTransactions: not every transactional id was described in time")
}

func undescribed(d *decoder) int {
	d.tags()
	d.int32()
	missing := 0
	for range d.uvarint() - 1 {
		if d.int16() != 0 {
			missing++
		}
		d.compact() // the id
		d.compact() // the state
		d.take(22)  // time-out, start, producer id and epoch
		for range d.uvarint() - 1 {
			d.compact()
			d.take(4 * (d.uvarint() - 1))
			d.tags()
		}
		d.tags()
	}
	return missing
}
