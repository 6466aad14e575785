package main

import (
	"encoding/binary"
	"fmt"
)

// decoder reads Kafka's primitive types; a frame too short panics and ends the run.
type decoder struct{ rest []byte }

func (d *decoder) take(n int) []byte {
	head := d.rest[:n]
	d.rest = d.rest[n:]
	return head
}

func (d *decoder) int16() int16 { return int16(binary.BigEndian.Uint16(d.take(2))) }
func (d *decoder) int32() int32 { return int32(binary.BigEndian.Uint32(d.take(4))) }
func (d *decoder) int64() int64 { return int64(binary.BigEndian.Uint64(d.take(8))) }

func (d *decoder) uvarint() int {
	v, n := binary.Uvarint(d.rest)
	d.rest = d.rest[n:]
	return int(v)
}

func (d *decoder) string() string {
	length := d.int16()
	if length < 0 {
		return ""
	}
	return string(d.take(int(length)))
}

func (d *decoder) bytes() []byte { return d.take(int(d.int32())) }

// compact returns the bytes of a compact string or byte field; null gives none.
func (d *decoder) compact() []byte {
	length := d.uvarint()
	if length == 0 {
		return nil
	}
	return d.take(length - 1)
}

func (d *decoder) tags() {
	for count := d.uvarint(); count > 0; count-- {
		d.uvarint()
		d.take(d.uvarint())
	}
}

// check panics on a Kafka error code: a load with errors in it measures nothing.
func check(where string, errorCode int16) {
	if errorCode != 0 {
		panic(fmt.Sprintf("%s: the broker answered error %d", where, errorCode))
	}
}
