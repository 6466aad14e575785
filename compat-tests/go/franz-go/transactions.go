package main

import (
	"context"
	"errors"
	"time"

	"barnabas/clients/contract"

	"github.com/twmb/franz-go/pkg/kgo"
)

const patience = 30 * time.Second

func transactional(o *contract.Options, timeoutMs int) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(o.Bootstrap),
		kgo.TransactionalID(o.TransactionalID),
		kgo.TransactionTimeout(time.Duration(timeoutMs) * time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RecordDeliveryTimeout(patience),
	}
}

type transactor struct{ client *kgo.Client }

func transact(o *contract.Options) (contract.Transactor, error) {
	client, err := kgo.NewClient(transactional(o, o.TimeoutMs)...)
	return &transactor{client}, err
}

func (t *transactor) Init() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, _, err := t.client.ProducerID(ctx)
	return err
}

func (t *transactor) Begin() error { return t.client.BeginTransaction() }

func (t *transactor) Send(place contract.Place, records []contract.Record) error {
	return t.client.ProduceSync(context.Background(), toSend(place, records)...).FirstErr()
}

func toSend(place contract.Place, contents []contract.Record) []*kgo.Record {
	records := make([]*kgo.Record, len(contents))
	for index, content := range contents {
		record := &kgo.Record{
			Topic: place.Topic, Partition: place.Partition, Key: content.Key, Value: content.Value,
		}
		for _, header := range content.Headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: header.Name, Value: header.Value})
		}
		records[index] = record
	}
	return records
}

func (t *transactor) Commit() error { return t.end(kgo.TryCommit) }

func (t *transactor) Abort() error { return t.end(kgo.TryAbort) }

func (t *transactor) end(try kgo.TransactionEndTry) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return t.client.EndTransaction(ctx, try)
}

func (t *transactor) Close() { t.client.Close() }

type transformer struct{ session *kgo.GroupTransactSession }

func transform(o *contract.Options) (contract.Transformer, error) {
	options := append(
		transactional(o, 60_000),
		kgo.ConsumerGroup(o.Group),
		kgo.ConsumeTopics(o.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(100*time.Millisecond),
		kgo.RequireStableFetchOffsets(),
	)
	session, err := kgo.NewGroupTransactSession(options...)
	return &transformer{session}, err
}

func (t *transformer) Poll(most int, wait time.Duration) ([]contract.Received, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return received(t.session.PollRecords(ctx, most))
}

func (t *transformer) Begin() error { return t.session.Begin() }

func (t *transformer) Send(place contract.Place, records []contract.Record) error {
	return t.session.ProduceSync(context.Background(), toSend(place, records)...).FirstErr()
}

// End leaves the offsets to the session: it commits what was polled, or goes back.
func (t *transformer) End(_ []contract.Received, commit bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	committed, err := t.session.End(ctx, kgo.TransactionEndTry(commit))
	if err == nil && committed != commit {
		return errors.New("a rebalance has aborted the transaction")
	}
	return err
}

func (t *transformer) Close() { t.session.Close() }
