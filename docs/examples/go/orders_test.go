package orders

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func newClient(t *testing.T, broker *Barnabas, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	options = append(options, kgo.SeedBrokers(broker.BootstrapServers))
	client, err := kgo.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func newMember(t *testing.T, broker *Barnabas) *kgo.Client {
	t.Helper()
	return newClient(t, broker,
		kgo.ConsumerGroup("orders"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(200*time.Millisecond))
}

func inTime(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func place(t *testing.T, broker *Barnabas, orders ...string) {
	t.Helper()
	client := newClient(t, broker)
	for _, order := range orders {
		record := kgo.StringRecord(order)
		record.Topic = "orders"
		if err := client.ProduceSync(inTime(t), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, client *kgo.Client, count int) []string {
	t.Helper()
	var found []string
	for ctx := inTime(t); len(found) < count; {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("not in time: %v", found)
		}
		fetches.EachRecord(func(record *kgo.Record) { found = append(found, string(record.Value)) })
	}
	return found
}

func TestACommitThatIsRefusedIsSeen(t *testing.T) {
	broker := startBarnabas(t)
	broker.CreateTopic("orders", 1)
	place(t, broker, "a", "b")
	fault := broker.AddFault(Fields{"action": "error", "api": "OFFSET_COMMIT", "error": "UNKNOWN_SERVER_ERROR"})
	member := newMember(t, broker)
	if got := read(t, member, 2); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("read %v", got)
	}
	if err := member.CommitUncommittedOffsets(inTime(t)); err == nil {
		t.Error("the first commit was not refused")
	}
	if err := member.CommitUncommittedOffsets(inTime(t)); err != nil {
		t.Error(err)
	}
	if hits := fault.Hits(); hits != 1 {
		t.Errorf("hit %d times", hits)
	}
}

func TestAMemberWhoseSessionHasPassedReadsOn(t *testing.T) {
	broker := startBarnabas(t)
	broker.CreateTopic("orders", 1)
	place(t, broker, "before")
	member := newMember(t, broker)
	read(t, member, 1)
	if err := member.CommitUncommittedOffsets(inTime(t)); err != nil {
		t.Fatal(err)
	}
	broker.Advance("1 hour")
	place(t, broker, "after")
	if got := read(t, member, 1); !slices.Equal(got, []string{"after"}) {
		t.Errorf("read %v", got)
	}
}

func TestABrokerThatCrashedComesBackWithWhatItHad(t *testing.T) {
	broker := startBarnabas(t, "num.partitions=3")
	broker.CreateTopic("orders", 1)
	place(t, broker, "kept")
	broker.Kill()
	broker.Start()
	if got := read(t, newMember(t, broker), 1); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("read %v", got)
	}
}

func TestACommandThatMakesNoSenseIsRefused(t *testing.T) {
	_, err := startBarnabas(t).Ask("POST", "/faults", Fields{"action": "error", "api": "OFFSET_COMIT"})
	if err == nil || !strings.Contains(err.Error(), "not the name of an API, as OFFSET_COMMIT") {
		t.Error(err)
	}
}
