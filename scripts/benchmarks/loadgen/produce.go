package main

import (
	"encoding/binary"
	"time"
)

// produceFrame is a Produce v9 request for one partition around a batch; the batch's place in
// the frame is returned too, so that it can be stamped again without encoding it again.
func produceFrame(topic string, partition int32, acks int16, batch []byte) (frame, inside []byte) {
	e := request(0, 9, true)
	e.uvarint(0) // no transactional id
	e.int16(acks)
	e.int32(30_000)
	e.uvarint(2)
	e.compactString(topic)
	e.uvarint(2)
	e.int32(partition)
	e.compactBytes(batch)
	start := len(e.frame) - len(batch)
	e.noTags()
	e.noTags()
	e.noTags()
	frame = e.sealed()
	return frame, frame[start : start+len(batch)]
}

func checkProduced(d *decoder) {
	d.tags()
	d.uvarint()
	d.compact()
	d.uvarint()
	d.int32()
	check("Produce", d.int16())
}

// stamper changes what must differ from one batch to the next, and the checksum with it.
type stamper struct {
	batch          []byte
	keysAt         []int
	nextKey        uint64
	records        int32
	producerID     int64
	sequence       int32
	timestampMs    int64
	stepMs         int64
	stampsSequence bool
}

func newStamper(o options, c *connection, batch []byte, keysAt []int) *stamper {
	if !o.idempotent && o.stepMs == 0 && !o.keys {
		return nil
	}
	s := &stamper{batch: batch, keysAt: keysAt, records: int32(o.records), timestampMs: o.timestampMs, stepMs: o.stepMs}
	if o.idempotent {
		s.stampsSequence = true
		s.producerID = initProducerID(c)
		binary.BigEndian.PutUint64(batch[producerIDAt:], uint64(s.producerID))
		binary.BigEndian.PutUint16(batch[producerEpochAt:], 0)
	}
	return s
}

func (s *stamper) stamp() {
	if s.stampsSequence {
		binary.BigEndian.PutUint32(s.batch[baseSequenceAt:], uint32(s.sequence))
		s.sequence += s.records
	}
	if s.stepMs != 0 {
		binary.BigEndian.PutUint64(s.batch[baseTimestampAt:], uint64(s.timestampMs))
		binary.BigEndian.PutUint64(s.batch[maxTimestampAt:], uint64(s.timestampMs))
		s.timestampMs += s.stepMs
	}
	for _, at := range s.keysAt {
		binary.BigEndian.PutUint64(s.batch[at:], s.nextKey)
		s.nextKey++
	}
	checksum(s.batch)
}

// initProducerID asks until the broker has a block of ids: the first answer after a start
// may be COORDINATOR_LOAD_IN_PROGRESS (14).
func initProducerID(c *connection) int64 {
	for {
		e := request(22, 1, false)
		e.int16(-1)
		e.int32(60_000)
		d := c.call(e.sealed())
		d.int32()
		if errorCode := d.int16(); errorCode != 14 && errorCode != 15 {
			check("InitProducerId", errorCode)
			return d.int64()
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// produce keeps depth requests in flight on one connection until time or bytes are used up.
func produce(o options, index int, deadline time.Time) *tally {
	c := dial(o.address, 4096)
	defer c.socket.Close()
	batch, keysAt := recordBatch(o.records, o.valueBytes, o.timestampMs, o.keys)
	frame, inside := produceFrame(o.topic, int32(index%o.partitions), int16(o.acks), batch)
	stamper := newStamper(o, c, inside, keysAt)
	t := &tally{}
	sent := make([]time.Time, o.depth)
	var started, finished int
	for {
		for started-finished < o.depth && o.goesOn(int64(started)*int64(len(batch)), deadline) {
			if stamper != nil {
				stamper.stamp()
			}
			sent[started%o.depth] = time.Now()
			c.send(frame)
			started++
		}
		if started == finished {
			return t
		}
		checkProduced(c.receive())
		t.add(sent[finished%o.depth], int64(o.records), int64(len(batch)))
		finished++
	}
}
