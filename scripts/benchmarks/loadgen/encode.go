package main

import (
	"encoding/binary"
	"hash/crc32"
)

// encoder writes Kafka's primitive types, big-endian, into one growing frame.
type encoder struct{ frame []byte }

func (e *encoder) int8(v int8)   { e.frame = append(e.frame, byte(v)) }
func (e *encoder) int16(v int16) { e.frame = binary.BigEndian.AppendUint16(e.frame, uint16(v)) }
func (e *encoder) int32(v int32) { e.frame = binary.BigEndian.AppendUint32(e.frame, uint32(v)) }
func (e *encoder) int64(v int64) { e.frame = binary.BigEndian.AppendUint64(e.frame, uint64(v)) }

// uvarint carries lengths in flexible versions; varint (zigzag) carries them in records.
func (e *encoder) uvarint(v uint64) { e.frame = binary.AppendUvarint(e.frame, v) }
func (e *encoder) varint(v int64)   { e.frame = binary.AppendVarint(e.frame, v) }

func (e *encoder) string(v string) {
	e.int16(int16(len(v)))
	e.frame = append(e.frame, v...)
}

func (e *encoder) bytes(v []byte) {
	e.int32(int32(len(v)))
	e.frame = append(e.frame, v...)
}

func (e *encoder) compactString(v string) {
	e.uvarint(uint64(len(v)) + 1)
	e.frame = append(e.frame, v...)
}

func (e *encoder) compactBytes(v []byte) {
	e.uvarint(uint64(len(v)) + 1)
	e.frame = append(e.frame, v...)
}

func (e *encoder) noTags() { e.uvarint(0) }

// request starts a frame: four bytes of length (filled in by sealed) and the header.
func request(apiKey, version int16, flexible bool) *encoder {
	e := &encoder{frame: make([]byte, 4, 256)}
	e.int16(apiKey)
	e.int16(version)
	e.int32(0)
	e.string("loadgen")
	if flexible {
		e.noTags()
	}
	return e
}

// sealed returns the frame with its length in front.
func (e *encoder) sealed() []byte {
	binary.BigEndian.PutUint32(e.frame, uint32(len(e.frame)-4))
	return e.frame
}

// correlate stamps the correlation id into a finished frame.
func correlate(frame []byte, id int32) { binary.BigEndian.PutUint32(frame[8:], uint32(id)) }

// Positions in a record batch of format 2, counted from its base offset.
const (
	batchLengthAt     = 8
	batchCRCAt        = 17
	batchAttributesAt = 21
	lastOffsetDeltaAt = 23
	baseTimestampAt   = 27
	maxTimestampAt    = 35
	producerIDAt      = 43
	producerEpochAt   = 51
	baseSequenceAt    = 53
	batchHeaderBytes  = 61
)

const isTransactional = 0x10 // among the attributes

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordBatch is an uncompressed batch of records with equal values. The value's bytes differ
// from one another, so that nothing on the way can profit from zeros. With keys every record has
// one of eight bytes, and their places in the batch are returned.
func recordBatch(records, valueBytes int, timestampMs int64, keys bool) (batch []byte, keysAt []int) {
	e := &encoder{frame: make([]byte, 0, batchHeaderBytes+records*(valueBytes+16))}
	e.int64(0)
	e.int32(0)
	e.int32(-1)
	e.int8(2)
	e.int32(0)
	e.int16(0)
	e.int32(int32(records - 1))
	e.int64(timestampMs)
	e.int64(timestampMs)
	e.int64(-1)
	e.int16(-1)
	e.int32(-1)
	e.int32(int32(records))
	value := make([]byte, valueBytes)
	for i := range value {
		value[i] = byte(i*131 + i>>8)
	}
	for i := 0; i < records; i++ {
		e.record(int64(i), value, keys)
		if keys {
			keysAt = append(keysAt, len(e.frame)-recordTailBytes(valueBytes)-keyBytes)
		}
	}
	binary.BigEndian.PutUint32(e.frame[batchLengthAt:], uint32(len(e.frame)-12))
	checksum(e.frame)
	return e.frame, keysAt
}

const keyBytes = 8

// recordTailBytes is what follows a record's key: the value's length, the value, no headers.
func recordTailBytes(valueBytes int) int {
	return len(binary.AppendVarint(nil, int64(valueBytes))) + valueBytes + 1
}

func (e *encoder) record(offsetDelta int64, value []byte, key bool) {
	body := &encoder{frame: make([]byte, 0, len(value)+16)}
	body.int8(0)
	body.varint(0)
	body.varint(offsetDelta)
	if key {
		body.varint(keyBytes)
		body.int64(0)
	} else {
		body.varint(-1)
	}
	body.varint(int64(len(value)))
	body.frame = append(body.frame, value...)
	body.varint(0)
	e.varint(int64(len(body.frame)))
	e.frame = append(e.frame, body.frame...)
}

func checksum(batch []byte) {
	crc := crc32.Checksum(batch[batchAttributesAt:], castagnoli)
	binary.BigEndian.PutUint32(batch[batchCRCAt:], crc)
}
