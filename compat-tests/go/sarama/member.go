package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"barnabas/clients/contract"

	"github.com/IBM/sarama"
)

var strategies = map[string]func() sarama.BalanceStrategy{
	"range":              sarama.NewBalanceStrategyRange,
	"roundrobin":         sarama.NewBalanceStrategyRoundRobin,
	"sticky":             sarama.NewBalanceStrategySticky,
	"cooperative-sticky": sarama.NewBalanceStrategyCooperativeSticky,
}

// member hands the records of sarama's claim goroutines to the polling loop.
type member struct {
	group    sarama.ConsumerGroup
	auto     bool
	cancel   context.CancelFunc
	messages chan *sarama.ConsumerMessage
	stopped  chan error
	mutex    sync.Mutex
	session  sarama.ConsumerGroupSession
}

func join(o *contract.Options) (contract.Member, error) {
	group, err := sarama.NewConsumerGroup([]string{o.Bootstrap}, o.Group, groupConfig(o))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{
		group: group, auto: o.Commit == "auto", cancel: cancel,
		messages: make(chan *sarama.ConsumerMessage), stopped: make(chan error, 1),
	}
	go func() { m.stopped <- m.consume(ctx, o.Topics()) }()
	return m, nil
}

func groupConfig(o *contract.Options) *sarama.Config {
	config := newConfig()
	config.Metadata.RefreshFrequency = time.Duration(o.MetadataMs) * time.Millisecond
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	if o.From == "latest" {
		config.Consumer.Offsets.Initial = sarama.OffsetNewest
	}
	config.Consumer.Offsets.AutoCommit.Enable = o.Commit == "auto"
	config.Consumer.Offsets.AutoCommit.Interval = 200 * time.Millisecond
	config.Consumer.Group.InstanceId = o.Instance
	config.Consumer.Group.Session.Timeout = time.Duration(o.SessionMs) * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = 100 * time.Millisecond
	config.Consumer.Group.Rebalance.Retry.Backoff = 100 * time.Millisecond
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategies[o.Assignor]()}
	return config
}

func (m *member) consume(ctx context.Context, topics []string) error {
	for ctx.Err() == nil {
		if err := m.group.Consume(ctx, topics, m); err != nil {
			return err
		}
	}
	return nil
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.session = session
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	place := []contract.Place{{Topic: claim.Topic(), Partition: claim.Partition()}}
	contract.EmitPartitions("assigned", place)
	defer contract.EmitPartitions("revoked", place)
	for message := range claim.Messages() {
		select {
		case m.messages <- message:
		case <-session.Context().Done():
			return nil
		}
	}
	return nil
}

func (m *member) Poll(wait time.Duration) ([]contract.Received, error) {
	var records []contract.Received
	timeout := time.After(wait)
	for {
		select {
		case message := <-m.messages:
			records = append(records, received(message))
			if m.auto {
				m.mark(contract.Offsets{records[len(records)-1].Place: message.Offset + 1})
			}
		case err := <-m.stopped:
			return records, errors.Join(errors.New("the group's loop has ended"), err)
		case <-timeout:
			return records, nil
		}
	}
}

func (m *member) mark(offsets contract.Offsets) sarama.ConsumerGroupSession {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for place, offset := range offsets {
		m.session.MarkOffset(place.Topic, place.Partition, offset, "")
	}
	return m.session
}

func (m *member) CommitSync(offsets contract.Offsets) error {
	m.mark(offsets).Commit()
	return nil
}

func (m *member) CommitAsync(contract.Offsets) error { return contract.ErrLacking }

func (m *member) Seek(contract.Place, int64) error { return contract.ErrLacking }

// A fetch under way still names the partition: the pause has taken effect when it is over.
func (m *member) Pause(place contract.Place) error {
	m.group.Pause(map[string][]int32{place.Topic: {place.Partition}})
	time.Sleep(3 * newConfig().Consumer.MaxWaitTime)
	return nil
}

func (m *member) Resume(place contract.Place) error {
	m.group.Resume(map[string][]int32{place.Topic: {place.Partition}})
	return nil
}

func (m *member) Close() error {
	m.cancel()
	return m.group.Close()
}
