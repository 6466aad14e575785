// franz-go under the command contract (contract.md).
package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"barnabas/clients/contract"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

var acks = map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}

var balancers = map[string]kgo.GroupBalancer{
	"range":              kgo.RangeBalancer(),
	"roundrobin":         kgo.RoundRobinBalancer(),
	"sticky":             kgo.StickyBalancer(),
	"cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

func main() {
	contract.Main(contract.Program{
		Produce: produce, Consume: consume, Drain: drain, Join: join, Transact: transact, Transform: transform,
	})
}

func produce(o *contract.Options) error {
	options := []kgo.Opt{
		kgo.SeedBrokers(o.Bootstrap),
		kgo.ProducerBatchCompression(codecs[o.Codec]),
		kgo.RequiredAcks(acks[o.Acks]),
		kgo.ProducerLinger(5 * time.Millisecond),
	}
	if !o.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	if o.Partition >= 0 {
		options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return emitAcked(o, client.ProduceSync(ctx, series(o)...))
}

func series(o *contract.Options) []*kgo.Record {
	records := make([]*kgo.Record, o.Count)
	for index := range records {
		content := contract.RecordAt(o.Prefix, index)
		record := &kgo.Record{Topic: o.Topic, Key: content.Key, Value: content.Value}
		record.Context = context.WithValue(context.Background(), indexKey{}, index)
		for _, header := range content.Headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: header.Name, Value: header.Value})
		}
		if o.Partition >= 0 {
			record.Partition = int32(o.Partition)
		}
		if o.TimestampMs >= 0 {
			record.Timestamp = time.UnixMilli(o.TimestampMs + int64(index))
		}
		records[index] = record
	}
	return records
}

type indexKey struct{}

func emitAcked(o *contract.Options, results kgo.ProduceResults) error {
	if err := results.FirstErr(); err != nil {
		return err
	}
	for _, result := range results {
		offset := result.Record.Offset
		if o.Acks == "0" {
			offset = -1
		}
		index := result.Record.Context.Value(indexKey{}).(int)
		contract.EmitAcked(index, result.Record.Partition, offset)
	}
	return nil
}

func consume(o *contract.Options) error {
	start := kgo.NewOffset().AtStart()
	if o.From != "earliest" {
		offset, err := strconv.ParseInt(o.From, 10, 64)
		if err != nil {
			return err
		}
		start = kgo.NewOffset().At(offset)
	}
	isolation := kgo.ReadUncommitted()
	if o.Isolation == "read_committed" {
		isolation = kgo.ReadCommitted()
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(o.Bootstrap),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{o.Topic: {int32(o.Partition): start}}),
		kgo.FetchMaxWait(100*time.Millisecond),
		kgo.FetchIsolationLevel(isolation),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(o.TimeoutMs)*time.Millisecond)
	defer cancel()
	for left := o.Count; left > 0 && ctx.Err() == nil; {
		records, err := received(client.PollRecords(ctx, left))
		if err != nil {
			return err
		}
		for _, record := range records {
			contract.EmitRecord(record)
		}
		left -= len(records)
	}
	return nil
}

func drain(o *contract.Options) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(o.Bootstrap),
		kgo.ConsumeTopics(o.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(o.TimeoutMs)*time.Millisecond)
	defer cancel()
	for left := o.Count; left > 0 && ctx.Err() == nil; {
		records, err := received(client.PollFetches(ctx))
		if err != nil {
			return err
		}
		for _, record := range records {
			contract.EmitDrained(record.Partition, record.Offset, len(record.Value))
		}
		left -= len(records)
	}
	return nil
}

func received(fetches kgo.Fetches) ([]contract.Received, error) {
	for _, failure := range fetches.Errors() {
		if !kerr.IsRetriable(failure.Err) && failure.Topic != "" {
			return nil, fmt.Errorf("%s-%d: %w", failure.Topic, failure.Partition, failure.Err)
		}
	}
	var records []contract.Received
	fetches.EachRecord(func(r *kgo.Record) {
		record := contract.Record{Key: r.Key, Value: r.Value}
		for _, header := range r.Headers {
			record.Headers = append(record.Headers, contract.Header{Name: header.Key, Value: header.Value})
		}
		place := contract.Place{Topic: r.Topic, Partition: r.Partition}
		records = append(records, contract.Received{
			Place: place, Offset: r.Offset, TimestampMs: r.Timestamp.UnixMilli(), Record: record,
		})
	})
	return records, nil
}

type member struct{ client *kgo.Client }

func join(o *contract.Options) (contract.Member, error) {
	auto := o.Commit == "auto"
	start := kgo.NewOffset().AtStart()
	if o.From == "latest" {
		start = kgo.NewOffset().AtEnd()
	}
	age := time.Duration(o.MetadataMs) * time.Millisecond
	options := []kgo.Opt{
		kgo.SeedBrokers(o.Bootstrap),
		kgo.ConsumerGroup(o.Group),
		kgo.ConsumeTopics(o.Topics()...),
		kgo.Balancers(balancers[o.Assignor]),
		kgo.ConsumeResetOffset(start),
		kgo.SessionTimeout(time.Duration(o.SessionMs) * time.Millisecond),
		kgo.HeartbeatInterval(100 * time.Millisecond),
		kgo.MetadataMaxAge(age),
		kgo.MetadataMinAge(age / 2),
		kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.OnPartitionsAssigned(emitPartitions("assigned")),
		kgo.OnPartitionsLost(emitPartitions("revoked")),
		kgo.OnPartitionsRevoked(revoked(auto)),
	}
	if auto {
		options = append(options, kgo.AutoCommitInterval(200*time.Millisecond))
	} else {
		options = append(options, kgo.DisableAutoCommit())
	}
	if o.IsPattern() {
		options = append(options, kgo.ConsumeRegex())
	}
	if o.Instance != "" {
		options = append(options, kgo.InstanceID(o.Instance))
	}
	client, err := kgo.NewClient(options...)
	return &member{client}, err
}

type onPartitions = func(context.Context, *kgo.Client, map[string][]int32)

func emitPartitions(event string) onPartitions {
	return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
		var places []contract.Place
		for topic, numbers := range partitions {
			for _, number := range numbers {
				places = append(places, contract.Place{Topic: topic, Partition: number})
			}
		}
		contract.EmitPartitions(event, places)
	}
}

// With a callback of one's own, franz-go leaves the last automatic commit to it.
func revoked(auto bool) onPartitions {
	emit := emitPartitions("revoked")
	return func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
		if auto {
			if err := client.CommitUncommittedOffsets(ctx); err != nil {
				contract.EmitCommit(nil, err)
			}
		}
		emit(ctx, client, partitions)
	}
}

func (m *member) Poll(wait time.Duration) ([]contract.Received, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return received(m.client.PollRecords(ctx, 500))
}

func positions(offsets contract.Offsets) map[string]map[int32]kgo.EpochOffset {
	byTopic := map[string]map[int32]kgo.EpochOffset{}
	for place, offset := range offsets {
		if byTopic[place.Topic] == nil {
			byTopic[place.Topic] = map[int32]kgo.EpochOffset{}
		}
		byTopic[place.Topic][place.Partition] = kgo.EpochOffset{Epoch: -1, Offset: offset}
	}
	return byTopic
}

type onCommit = func(*kgo.Client, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error)

func outcome(report func(error)) onCommit {
	return func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
		if err == nil {
			for _, topic := range answer.Topics {
				for _, partition := range topic.Partitions {
					err = kerr.ErrorForCode(partition.ErrorCode)
				}
			}
		}
		report(err)
	}
}

func (m *member) CommitSync(offsets contract.Offsets) error {
	var result error
	m.client.CommitOffsetsSync(
		context.Background(), positions(offsets), outcome(func(err error) { result = err }),
	)
	return result
}

func (m *member) CommitAsync(offsets contract.Offsets) error {
	report := func(err error) { contract.EmitCommit(offsets, err) }
	m.client.CommitOffsets(context.Background(), positions(offsets), outcome(report))
	return nil
}

func (m *member) Seek(place contract.Place, offset int64) error {
	m.client.SetOffsets(positions(contract.Offsets{place: offset}))
	return nil
}

func (m *member) Pause(place contract.Place) error {
	m.client.PauseFetchPartitions(map[string][]int32{place.Topic: {place.Partition}})
	return nil
}

func (m *member) Resume(place contract.Place) error {
	m.client.ResumeFetchPartitions(map[string][]int32{place.Topic: {place.Partition}})
	return nil
}

func (m *member) Close() error {
	m.client.Close()
	return nil
}
