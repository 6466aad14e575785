// sarama under the command contract (contract.md).
package main

import (
	"strconv"
	"time"

	"barnabas/clients/contract"

	"github.com/IBM/sarama"
)

var codecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

var acks = map[string]sarama.RequiredAcks{
	"0": sarama.NoResponse, "1": sarama.WaitForLocal, "all": sarama.WaitForAll,
}

func main() {
	contract.Main(contract.Program{
		Produce: produce, Consume: consume, Drain: drain, Join: join, Transact: transact, Transform: transform,
	})
}

func newConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	return config
}

func produce(o *contract.Options) error {
	config := newConfig()
	config.Producer.Compression = codecs[o.Codec]
	config.Producer.RequiredAcks = acks[o.Acks]
	config.Producer.Idempotent = o.Idempotent
	config.Producer.Return.Successes = true
	config.Producer.Flush.Frequency = 5 * time.Millisecond
	if o.Idempotent {
		config.Net.MaxOpenRequests = 1
	}
	if o.Partition >= 0 {
		config.Producer.Partitioner = sarama.NewManualPartitioner
	}
	producer, err := sarama.NewSyncProducer([]string{o.Bootstrap}, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	messages := series(o)
	if err := producer.SendMessages(messages); err != nil {
		return err
	}
	for index, message := range messages {
		offset := message.Offset
		if o.Acks == "0" {
			offset = -1
		}
		contract.EmitAcked(index, message.Partition, offset)
	}
	return nil
}

func series(o *contract.Options) []*sarama.ProducerMessage {
	messages := make([]*sarama.ProducerMessage, o.Count)
	for index := range messages {
		message := toSend(o.Topic, int32(o.Partition), contract.RecordAt(o.Prefix, index))
		if o.TimestampMs >= 0 {
			message.Timestamp = time.UnixMilli(o.TimestampMs + int64(index))
		}
		messages[index] = message
	}
	return messages
}

func toSend(topic string, partition int32, record contract.Record) *sarama.ProducerMessage {
	message := &sarama.ProducerMessage{
		Topic: topic, Partition: partition, Key: encoder(record.Key), Value: encoder(record.Value),
	}
	for _, header := range record.Headers {
		message.Headers = append(message.Headers,
			sarama.RecordHeader{Key: []byte(header.Name), Value: header.Value})
	}
	return message
}

func encoder(data []byte) sarama.Encoder {
	if data == nil {
		return nil
	}
	return sarama.ByteEncoder(data)
}

func received(message *sarama.ConsumerMessage) contract.Received {
	record := contract.Record{Key: message.Key, Value: message.Value}
	for _, header := range message.Headers {
		record.Headers = append(record.Headers,
			contract.Header{Name: string(header.Key), Value: header.Value})
	}
	place := contract.Place{Topic: message.Topic, Partition: message.Partition}
	return contract.Received{
		Place: place, Offset: message.Offset, TimestampMs: message.Timestamp.UnixMilli(), Record: record,
	}
}

func consume(o *contract.Options) error {
	start := sarama.OffsetOldest
	if o.From != "earliest" {
		offset, err := strconv.ParseInt(o.From, 10, 64)
		if err != nil {
			return err
		}
		start = offset
	}
	config := newConfig()
	if o.Isolation == "read_committed" {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	consumer, err := sarama.NewConsumer([]string{o.Bootstrap}, config)
	if err != nil {
		return err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(o.Topic, int32(o.Partition), start)
	if err != nil {
		return err
	}
	defer partition.Close()
	deadline := time.After(time.Duration(o.TimeoutMs) * time.Millisecond)
	for left := o.Count; left > 0; left-- {
		select {
		case message := <-partition.Messages():
			contract.EmitRecord(received(message))
		case <-deadline:
			return nil
		}
	}
	return nil
}

func drain(o *contract.Options) error {
	consumer, err := sarama.NewConsumer([]string{o.Bootstrap}, sarama.NewConfig())
	if err != nil {
		return err
	}
	defer consumer.Close()
	messages, stop := make(chan *sarama.ConsumerMessage), make(chan struct{})
	defer close(stop)
	for number := range o.Partitions {
		partition, err := consumer.ConsumePartition(o.Topic, int32(number), sarama.OffsetOldest)
		if err != nil {
			return err
		}
		defer partition.AsyncClose()
		go func() {
			for message := range partition.Messages() {
				select {
				case messages <- message:
				case <-stop:
				}
			}
		}()
	}
	deadline := time.After(time.Duration(o.TimeoutMs) * time.Millisecond)
	for left := o.Count; left > 0; left-- {
		select {
		case message := <-messages:
			contract.EmitDrained(message.Partition, message.Offset, len(message.Value))
		case <-deadline:
			return nil
		}
	}
	return nil
}
