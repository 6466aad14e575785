package main

import (
	"encoding/binary"
	"fmt"
	"time"
)

// freshGroup joins a group nobody knows, as clients do it (the first join brings a member id,
// the second joins), takes the only partition, and reads its first record: time to that record.
func freshGroup(o options, index int, deadline time.Time) *tally {
	t := &tally{}
	for round := 0; o.goesOn(t.bytes, deadline); round++ {
		group := fmt.Sprintf("%s-%d-%d-%d", o.topic, index, round, time.Now().UnixNano())
		started := time.Now()
		c := dial(o.address, 4096)
		findCoordinator(c, group)
		member := membership{c: c, group: group}
		member.join()
		member.join()
		member.sync()
		member.committedOffset(o.topic)
		offset := listOffset(c, o.topic, 0, -2)
		frame, offsetAt := fetchFrame(o.topic, 0, 500, 1<<16)
		binary.BigEndian.PutUint64(frame[offsetAt:], uint64(offset))
		if _, records := nextOffset(parseFetch(c.call(frame)).records, offset); records == 0 {
			panic("Fetch brought no record of a topic that has some")
		}
		t.add(started, 1, 0)
		member.leave()
		c.socket.Close()
	}
	return t
}

func findCoordinator(c *connection, group string) {
	for {
		e := request(10, 2, false)
		e.string(group)
		e.int8(0)
		d := c.call(e.sealed())
		d.int32()
		errorCode := d.int16()
		if errorCode != 14 && errorCode != 15 {
			check("FindCoordinator", errorCode)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

type membership struct {
	c          *connection
	group      string
	id         string
	generation int32
}

const memberIDRequired = 79

// join tries again while the coordinator, just chosen, still loads or does not know it yet.
func (m *membership) join() {
	for {
		errorCode := m.tryJoin()
		if errorCode == memberIDRequired {
			return
		}
		if errorCode < 14 || errorCode > 16 {
			check("JoinGroup", errorCode)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (m *membership) tryJoin() int16 {
	e := request(11, 5, false)
	e.string(m.group)
	e.int32(30_000)
	e.int32(60_000)
	e.string(m.id)
	e.int16(-1)
	e.string("consumer")
	e.int32(1)
	e.string("range")
	e.bytes(nil)
	d := m.c.call(e.sealed())
	d.int32()
	errorCode := d.int16()
	m.generation = d.int32()
	d.string()
	d.string()
	m.id = d.string()
	return errorCode
}

func (m *membership) sync() {
	e := request(14, 3, false)
	e.string(m.group)
	e.int32(m.generation)
	e.string(m.id)
	e.int16(-1)
	e.int32(1)
	e.string(m.id)
	e.bytes([]byte("partition 0"))
	d := m.c.call(e.sealed())
	d.int32()
	check("SyncGroup", d.int16())
}

func (m *membership) committedOffset(topic string) {
	e := request(9, 5, false)
	e.string(m.group)
	e.int32(1)
	e.string(topic)
	e.int32(1)
	e.int32(0)
	m.c.call(e.sealed())
}

func (m *membership) leave() {
	e := request(13, 1, false)
	e.string(m.group)
	e.string(m.id)
	m.c.call(e.sealed())
}
