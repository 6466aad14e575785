package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"barnabas/clients/contract"

	"github.com/segmentio/kafka-go"
)

var balancers = map[string]kafka.GroupBalancer{
	"range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{},
}

// member uses ConsumerGroup, not Reader: only the former tells what was assigned.
type member struct {
	bootstrap  string
	group      *kafka.ConsumerGroup
	start      int64
	cancel     context.CancelFunc
	messages   chan kafka.Message
	stopped    chan error
	mutex      sync.Mutex
	generation *kafka.Generation
}

func join(o *contract.Options) (contract.Member, error) {
	start := kafka.FirstOffset
	if o.From == "latest" {
		start = kafka.LastOffset
	}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: o.Group, Brokers: []string{o.Bootstrap}, Topics: o.Topics(),
		GroupBalancers:         []kafka.GroupBalancer{balancers[o.Assignor]},
		HeartbeatInterval:      100 * time.Millisecond,
		SessionTimeout:         time.Duration(o.SessionMs) * time.Millisecond,
		RebalanceTimeout:       10 * time.Second,
		JoinGroupBackoff:       100 * time.Millisecond,
		WatchPartitionChanges:  true,
		PartitionWatchInterval: time.Duration(o.MetadataMs) * time.Millisecond,
		StartOffset:            start,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{
		bootstrap: o.Bootstrap, group: group, start: start, cancel: cancel,
		messages: make(chan kafka.Message), stopped: make(chan error, 1),
	}
	go func() { m.stopped <- m.run(ctx) }()
	return m, nil
}

func (m *member) run(ctx context.Context) error {
	for {
		generation, err := m.group.Next(ctx)
		if ctx.Err() != nil || errors.Is(err, kafka.ErrGroupClosed) {
			return nil
		}
		if err != nil {
			continue // the group has backed off and joins again
		}
		m.begin(generation)
	}
}

func (m *member) begin(generation *kafka.Generation) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.generation = generation
	var places []contract.Place
	for topic, assigned := range generation.Assignments {
		for _, partition := range assigned {
			place := contract.Place{Topic: topic, Partition: int32(partition.ID)}
			places = append(places, place)
			generation.Start(func(ctx context.Context) { m.read(ctx, place, partition.Offset) })
		}
	}
	contract.EmitPartitions("assigned", places)
	generation.Start(func(ctx context.Context) {
		<-ctx.Done()
		contract.EmitPartitions("revoked", places)
	})
}

func (m *member) read(ctx context.Context, place contract.Place, offset int64) {
	reader := newReader(m.bootstrap, place)
	defer reader.Close()
	if err := reader.SetOffset(offset); err != nil {
		m.stopped <- err
		return
	}
	for {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			return // the generation is over
		}
		select {
		case m.messages <- message:
		case <-ctx.Done():
			return
		}
	}
}

func (m *member) Poll(wait time.Duration) ([]contract.Received, error) {
	var records []contract.Received
	timeout := time.After(wait)
	for {
		select {
		case message := <-m.messages:
			records = append(records, received(message))
		case err := <-m.stopped:
			return records, errors.Join(errors.New("the group's loop has ended"), err)
		case <-timeout:
			return records, nil
		}
	}
}

func (m *member) CommitSync(offsets contract.Offsets) error {
	byTopic := map[string]map[int]int64{}
	for place, offset := range offsets {
		if byTopic[place.Topic] == nil {
			byTopic[place.Topic] = map[int]int64{}
		}
		byTopic[place.Topic][int(place.Partition)] = offset
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.generation.CommitOffsets(byTopic)
}

func (m *member) CommitAsync(contract.Offsets) error { return contract.ErrLacking }

func (m *member) Seek(contract.Place, int64) error { return contract.ErrLacking }

func (m *member) Pause(contract.Place) error { return contract.ErrLacking }

func (m *member) Resume(contract.Place) error { return contract.ErrLacking }

func (m *member) Close() error {
	m.cancel()
	return m.group.Close()
}
