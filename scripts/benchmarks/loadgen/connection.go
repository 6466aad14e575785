package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// connection sends frames and reads the answers in request order, without goroutines of its own.
type connection struct {
	socket net.Conn
	reader *bufio.Reader
	buffer []byte
	nextID int32
}

func dial(address string, readBufferBytes int) *connection {
	socket, err := net.Dial("tcp", address)
	if err != nil {
		panic(err.Error())
	}
	return &connection{socket: socket, reader: bufio.NewReaderSize(socket, readBufferBytes)}
}

func (c *connection) send(frame []byte) {
	correlate(frame, c.nextID)
	c.nextID++
	if _, err := c.socket.Write(frame); err != nil {
		panic(err.Error())
	}
}

// receive returns the next answer after its correlation id; it is valid until the next call.
func (c *connection) receive() *decoder {
	var length [4]byte
	if _, err := io.ReadFull(c.reader, length[:]); err != nil {
		panic(fmt.Sprintf("the broker closed the connection: %v", err))
	}
	size := int(binary.BigEndian.Uint32(length[:]))
	if cap(c.buffer) < size {
		c.buffer = make([]byte, size)
	}
	if _, err := io.ReadFull(c.reader, c.buffer[:size]); err != nil {
		panic(fmt.Sprintf("the broker cut an answer short: %v", err))
	}
	return &decoder{rest: c.buffer[4:size]}
}

func (c *connection) call(frame []byte) *decoder {
	c.send(frame)
	return c.receive()
}
