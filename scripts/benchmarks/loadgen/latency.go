package main

import (
	"encoding/binary"
	"math/rand"
	"time"
)

// endToEnd sends one record at a time and waits until a parked Fetch of another connection
// has brought it: the time from the send to the record's arrival.
func endToEnd(o options, _ int, deadline time.Time) *tally {
	consumer, producer := dial(o.address, 4096), dial(o.address, 4096)
	defer consumer.socket.Close()
	defer producer.socket.Close()
	batch, _ := recordBatch(1, o.valueBytes, o.timestampMs, false)
	produceRequest, _ := produceFrame(o.topic, 0, int16(o.acks), batch)
	fetchRequest, offsetAt := fetchFrame(o.topic, 0, 5000, 1<<20)
	offset := listOffset(consumer, o.topic, 0, -1)
	t := &tally{}
	for o.goesOn(t.bytes, deadline) {
		binary.BigEndian.PutUint64(fetchRequest[offsetAt:], uint64(offset))
		consumer.send(fetchRequest)
		time.Sleep(time.Millisecond) // so that the Fetch is parked
		started := time.Now()
		producer.send(produceRequest)
		offset = arrival(consumer, fetchRequest, offsetAt, offset)
		t.add(started, 1, int64(o.valueBytes))
		checkProduced(producer.receive())
	}
	return t
}

// arrival reads answers until one holds records; an empty one means the Fetch timed out.
func arrival(c *connection, fetchRequest []byte, offsetAt int, offset int64) int64 {
	for {
		f := parseFetch(c.receive())
		if next, records := nextOffset(f.records, offset); records > 0 {
			return next
		}
		c.send(fetchRequest)
	}
}

// seek fetches from offsets picked at random over the whole partition.
func seek(o options, index int, deadline time.Time) *tally {
	c := dial(o.address, 4096)
	defer c.socket.Close()
	end := listOffset(c, o.topic, 0, -1)
	frame, offsetAt := fetchFrame(o.topic, 0, 500, int32(o.maxBytes))
	random := rand.New(rand.NewSource(int64(index)))
	t := &tally{}
	for o.goesOn(t.bytes, deadline) {
		binary.BigEndian.PutUint64(frame[offsetAt:], uint64(random.Int63n(end)))
		started := time.Now()
		f := parseFetch(c.call(frame))
		t.add(started, 1, int64(len(f.records)))
	}
	return t
}

// lookUp asks for the offsets of times picked at random between the first and the last record.
func lookUp(o options, index int, deadline time.Time) *tally {
	c := dial(o.address, 4096)
	defer c.socket.Close()
	random := rand.New(rand.NewSource(int64(index)))
	t := &tally{}
	for o.goesOn(t.bytes, deadline) {
		at := o.timestampMs + random.Int63n(o.spanMs)
		started := time.Now()
		if listOffset(c, o.topic, 0, at) < 0 {
			panic("ListOffsets found nothing at a time within the log")
		}
		t.add(started, 1, 0)
	}
	return t
}

// listOffset is one ListOffsets v5 call; -1 asks for the end, -2 for the start.
func listOffset(c *connection, topic string, partition int32, timestampMs int64) int64 {
	e := request(2, 5, false)
	e.int32(-1)
	e.int8(0)
	e.int32(1)
	e.string(topic)
	e.int32(1)
	e.int32(partition)
	e.int32(-1)
	e.int64(timestampMs)
	d := c.call(e.sealed())
	d.int32()
	d.int32()
	d.string()
	d.int32()
	d.int32()
	check("ListOffsets", d.int16())
	d.int64()
	return d.int64()
}
