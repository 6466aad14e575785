package main

import (
	"encoding/binary"
	"time"
)

// fetchFrame is a Fetch v12 request for one partition outside any session, and the position
// of its fetch offset.
func fetchFrame(topic string, partition, maxWaitMs, maxBytes int32) (frame []byte, offsetAt int) {
	e := request(1, 12, true)
	e.int32(-1) // a consumer
	e.int32(maxWaitMs)
	e.int32(1)
	e.int32(maxBytes)
	e.int8(0)
	e.int32(0)
	e.int32(-1)
	e.uvarint(2)
	e.compactString(topic)
	e.uvarint(2)
	e.int32(partition)
	e.int32(-1)
	offsetAt = len(e.frame)
	e.int64(0)
	e.int32(-1)
	e.int64(-1)
	e.int32(maxBytes)
	e.noTags()
	e.noTags()
	e.uvarint(1) // nothing forgotten
	e.uvarint(1) // no rack
	e.noTags()
	return e.sealed(), offsetAt
}

// fetched is one partition's answer.
type fetched struct {
	highWatermark int64
	records       []byte
}

func parseFetch(d *decoder) fetched {
	d.tags()
	d.int32()
	check("Fetch", d.int16())
	d.int32()
	d.uvarint()
	d.compact()
	d.uvarint()
	d.int32()
	check("Fetch of a partition", d.int16())
	f := fetched{highWatermark: d.int64()}
	d.int64()
	d.int64()
	for aborted := d.uvarint() - 1; aborted > 0; aborted-- {
		d.take(16)
		d.tags()
	}
	d.int32()
	f.records = d.compact()
	return f
}

// nextOffset walks over the whole batches and returns the offset after the last, and how many
// records they hold. A batch cut short at the end does not count.
func nextOffset(batches []byte, offset int64) (next, records int64) {
	next = offset
	for len(batches) >= batchHeaderBytes {
		size := 12 + int(binary.BigEndian.Uint32(batches[batchLengthAt:]))
		if size > len(batches) {
			break
		}
		base := int64(binary.BigEndian.Uint64(batches))
		end := base + int64(binary.BigEndian.Uint32(batches[lastOffsetDeltaAt:])) + 1
		records += end - max(base, next)
		next = end
		batches = batches[size:]
	}
	return next, records
}

// fetch reads a partition from the start, again and again, until time or bytes are used up.
func fetch(o options, index int, deadline time.Time) *tally {
	c := dial(o.address, 16)
	defer c.socket.Close()
	frame, offsetAt := fetchFrame(o.topic, int32(index%o.partitions), 500, int32(o.maxBytes))
	t := &tally{}
	offset := int64(0)
	for o.goesOn(t.bytes, deadline) {
		binary.BigEndian.PutUint64(frame[offsetAt:], uint64(offset))
		started := time.Now()
		f := parseFetch(c.call(frame))
		next, records := nextOffset(f.records, offset)
		t.add(started, records, int64(len(f.records)))
		offset = next
		if offset >= f.highWatermark {
			offset = 0
		}
	}
	return t
}
