package main

import (
	"time"

	"barnabas/clients/contract"

	"github.com/IBM/sarama"
)

// transactor makes its producer when it is initialised: sarama asks for the producer id there.
type transactor struct {
	bootstrap string
	config    *sarama.Config
	producer  sarama.SyncProducer
}

func transact(o *contract.Options) (contract.Transactor, error) {
	return newTransactor(o, o.TimeoutMs), nil
}

func newTransactor(o *contract.Options, timeoutMs int) *transactor {
	config := newConfig()
	config.Producer.Transaction.ID = o.TransactionalID
	config.Producer.Transaction.Timeout = time.Duration(timeoutMs) * time.Millisecond
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Net.MaxOpenRequests = 1
	return &transactor{bootstrap: o.Bootstrap, config: config}
}

func (t *transactor) Init() (err error) {
	t.producer, err = sarama.NewSyncProducer([]string{t.bootstrap}, t.config)
	return err
}

func (t *transactor) Begin() error { return t.producer.BeginTxn() }

func (t *transactor) Send(place contract.Place, records []contract.Record) error {
	messages := make([]*sarama.ProducerMessage, len(records))
	for index, record := range records {
		messages[index] = toSend(place.Topic, place.Partition, record)
	}
	return t.producer.SendMessages(messages)
}

func (t *transactor) Commit() error { return t.producer.CommitTxn() }

func (t *transactor) Abort() error { return t.producer.AbortTxn() }

func (t *transactor) Close() {
	if t.producer != nil {
		t.producer.Close()
	}
}

// transformer reads the topic's partitions from the group's offsets, without joining the group:
// sarama cannot go back within a claim. The group's offsets are read again after an abort.
type transformer struct {
	*transactor
	group, topic string
	client       sarama.Client
	consumer     sarama.Consumer
	partitions   []sarama.PartitionConsumer
	messages     chan *sarama.ConsumerMessage
	stop         chan struct{}
}

func transform(o *contract.Options) (contract.Transformer, error) {
	t := &transformer{transactor: newTransactor(o, 60_000), group: o.Group, topic: o.Topic}
	config := newConfig()
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	var err error
	if t.client, err = sarama.NewClient([]string{o.Bootstrap}, config); err != nil {
		return nil, err
	}
	if t.consumer, err = sarama.NewConsumerFromClient(t.client); err != nil {
		return nil, err
	}
	if err := t.Init(); err != nil {
		return nil, err
	}
	return t, t.readFromCommitted()
}

func (t *transformer) readFromCommitted() error {
	numbers, err := t.client.Partitions(t.topic)
	if err != nil {
		return err
	}
	offsets, err := sarama.NewOffsetManagerFromClient(t.group, t.client)
	if err != nil {
		return err
	}
	defer offsets.Close()
	t.partitions, t.messages, t.stop = nil, make(chan *sarama.ConsumerMessage), make(chan struct{})
	for _, number := range numbers {
		if err := t.readPartition(offsets, number); err != nil {
			return err
		}
	}
	return nil
}

func (t *transformer) readPartition(offsets sarama.OffsetManager, number int32) error {
	position, err := offsets.ManagePartition(t.topic, number)
	if err != nil {
		return err
	}
	defer position.AsyncClose()
	start, _ := position.NextOffset()
	if start < 0 {
		start = sarama.OffsetOldest
	}
	partition, err := t.consumer.ConsumePartition(t.topic, number, start)
	if err != nil {
		return err
	}
	t.partitions = append(t.partitions, partition)
	go func(messages chan<- *sarama.ConsumerMessage, stop <-chan struct{}) {
		for message := range partition.Messages() {
			select {
			case messages <- message:
			case <-stop:
			}
		}
	}(t.messages, t.stop)
	return nil
}

func (t *transformer) Poll(most int, wait time.Duration) ([]contract.Received, error) {
	var records []contract.Received
	timeout := time.After(wait)
	for len(records) < most {
		select {
		case message := <-t.messages:
			records = append(records, received(message))
		case <-timeout:
			return records, nil
		}
	}
	return records, nil
}

func (t *transformer) End(received []contract.Received, commit bool) error {
	offsets := map[string][]*sarama.PartitionOffsetMetadata{}
	for place, offset := range contract.PositionsAfter(received) {
		position := &sarama.PartitionOffsetMetadata{Partition: place.Partition, Offset: offset}
		offsets[place.Topic] = append(offsets[place.Topic], position)
	}
	if err := t.producer.AddOffsetsToTxn(offsets, t.group); err != nil {
		return err
	}
	if commit {
		return t.producer.CommitTxn()
	}
	if err := t.producer.AbortTxn(); err != nil {
		return err
	}
	t.stopReading()
	return t.readFromCommitted()
}

func (t *transformer) stopReading() {
	close(t.stop)
	for _, partition := range t.partitions {
		partition.Close()
	}
}

func (t *transformer) Close() {
	t.stopReading()
	t.consumer.Close()
	t.client.Close()
	t.transactor.Close()
}
