// kafka-go under the command contract (contract.md).
package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"barnabas/clients/contract"

	"github.com/segmentio/kafka-go"
)

var codecs = map[string]kafka.Compression{
	"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
}

var acks = map[string]kafka.RequiredAcks{
	"0": kafka.RequireNone, "1": kafka.RequireOne, "all": kafka.RequireAll,
}

func main() {
	contract.Main(contract.Program{Produce: produce, Consume: consume, Drain: drain, Join: join})
}

func produce(o *contract.Options) error {
	if o.Idempotent {
		return contract.ErrLacking
	}
	var mutex sync.Mutex
	writer := &kafka.Writer{
		Addr:         kafka.TCP(o.Bootstrap),
		Topic:        o.Topic,
		Balancer:     &kafka.Hash{},
		RequiredAcks: acks[o.Acks],
		Compression:  codecs[o.Codec],
		BatchTimeout: 5 * time.Millisecond,
		Transport:    &kafka.Transport{},
		Completion: func(messages []kafka.Message, err error) {
			mutex.Lock()
			defer mutex.Unlock()
			for _, message := range messages {
				emitAcked(o, message, err)
			}
		},
	}
	if o.Partition >= 0 {
		writer.Balancer = kafka.BalancerFunc(func(kafka.Message, ...int) int { return o.Partition })
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return errors.Join(writer.WriteMessages(ctx, series(o)...), writer.Close())
}

func emitAcked(o *contract.Options, message kafka.Message, err error) {
	if err != nil {
		return // WriteMessages answers it
	}
	offset := message.Offset
	if o.Acks == "0" {
		offset = -1
	}
	contract.EmitAcked(message.WriterData.(int), int32(message.Partition), offset)
}

func series(o *contract.Options) []kafka.Message {
	messages := make([]kafka.Message, o.Count)
	for index := range messages {
		record := contract.RecordAt(o.Prefix, index)
		message := kafka.Message{Key: record.Key, Value: record.Value, WriterData: index}
		for _, header := range record.Headers {
			message.Headers = append(message.Headers, kafka.Header{Key: header.Name, Value: header.Value})
		}
		if o.TimestampMs >= 0 {
			message.Time = time.UnixMilli(o.TimestampMs + int64(index))
		}
		messages[index] = message
	}
	return messages
}

func received(message kafka.Message) contract.Received {
	record := contract.Record{Key: message.Key, Value: message.Value}
	for _, header := range message.Headers {
		record.Headers = append(record.Headers, contract.Header{Name: header.Key, Value: header.Value})
	}
	place := contract.Place{Topic: message.Topic, Partition: int32(message.Partition)}
	return contract.Received{
		Place: place, Offset: message.Offset, TimestampMs: message.Time.UnixMilli(), Record: record,
	}
}

func newReader(bootstrap string, place contract.Place) *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{bootstrap}, Topic: place.Topic, Partition: int(place.Partition),
		MinBytes: 1, MaxBytes: 10e6, MaxWait: 100 * time.Millisecond,
		ReadBatchTimeout: time.Second,
	})
}

func consume(o *contract.Options) error {
	start := kafka.FirstOffset
	if o.From != "earliest" {
		offset, err := strconv.ParseInt(o.From, 10, 64)
		if err != nil {
			return err
		}
		start = offset
	}
	reader := newReader(o.Bootstrap, contract.Place{Topic: o.Topic, Partition: int32(o.Partition)})
	defer reader.Close()
	if err := reader.SetOffset(start); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(o.TimeoutMs)*time.Millisecond)
	defer cancel()
	for left := o.Count; left > 0; left-- {
		message, err := reader.ReadMessage(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		contract.EmitRecord(received(message))
	}
	return nil
}

func drain(o *contract.Options) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(o.TimeoutMs)*time.Millisecond)
	defer cancel()
	messages := make(chan kafka.Message)
	for partition := range o.Partitions {
		reader := kafka.NewReader(kafka.ReaderConfig{
			Brokers: []string{o.Bootstrap}, Topic: o.Topic, Partition: partition,
		})
		defer func() { go reader.Close() }() // it waits for its long poll, ten seconds by default
		go func() {
			for {
				message, err := reader.ReadMessage(ctx)
				if err != nil {
					return
				}
				select {
				case messages <- message:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	for left := o.Count; left > 0; left-- {
		select {
		case message := <-messages:
			contract.EmitDrained(int32(message.Partition), message.Offset, len(message.Value))
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
