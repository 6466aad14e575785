// Package contract is the Go programs' half of contract.md: options, records, events, the command loop.
package contract

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
)

// Options are the arguments of one command.
type Options struct {
	Bootstrap, Topic          string
	Partition, Partitions     int
	Count                     int
	Prefix, Codec, Acks       string
	Idempotent                bool
	TimestampMs               int64
	From                      string
	TimeoutMs, IdleMs         int
	Group, Assignor, Instance string
	Commit                    string
	SessionMs, MetadataMs     int
	TransactionalID, To       string
	Batch                     int
	Isolation                 string
}

func parse(command string, words []string) (*Options, error) {
	o := &Options{}
	set := flag.NewFlagSet(command, flag.ContinueOnError)
	set.StringVar(&o.Bootstrap, "bootstrap", "", "")
	set.StringVar(&o.Topic, "topic", "", "")
	partition, timeout, count := -1, 60_000, 0
	switch command {
	case "produce":
		count = 10
	case "consume":
		partition, count, timeout = 0, 10, 10_000
	case "drain", "transform":
		count, timeout = 10, 30_000
	}
	set.IntVar(&o.Partition, "partition", partition, "")
	set.IntVar(&o.Partitions, "partitions", 1, "")
	set.IntVar(&o.Count, "count", count, "")
	set.StringVar(&o.Prefix, "prefix", "p", "")
	set.StringVar(&o.Codec, "codec", "none", "")
	set.StringVar(&o.Acks, "acks", "all", "")
	set.Int64Var(&o.TimestampMs, "timestamp", -1, "")
	set.StringVar(&o.From, "from", "earliest", "")
	set.IntVar(&o.TimeoutMs, "timeout-ms", timeout, "")
	set.IntVar(&o.IdleMs, "idle-ms", 0, "")
	set.StringVar(&o.Group, "group", "", "")
	set.StringVar(&o.Assignor, "assignor", "range", "")
	set.StringVar(&o.Instance, "instance-id", "", "")
	set.StringVar(&o.Commit, "commit", "none", "")
	set.IntVar(&o.SessionMs, "session-ms", 6_000, "")
	set.IntVar(&o.MetadataMs, "metadata-ms", 500, "")
	set.StringVar(&o.TransactionalID, "transactional-id", "", "")
	set.StringVar(&o.To, "to", "", "")
	set.IntVar(&o.Batch, "batch", 7, "")
	set.StringVar(&o.Isolation, "isolation", "", "")
	idempotent := set.Int("idempotent", 0, "")
	err := set.Parse(words)
	o.Idempotent = *idempotent == 1
	return o, err
}

// Topics are the names of a group's --topic; a regular expression stays one.
func (o *Options) Topics() []string { return strings.Split(o.Topic, ",") }

// IsPattern tells whether --topic is a regular expression.
func (o *Options) IsPattern() bool { return strings.HasPrefix(o.Topic, "^") }

// Header is one record header.
type Header struct {
	Name  string
	Value []byte
}

// Record is one record of the deterministic series, or the content of one that was read.
type Record struct {
	Key, Value []byte
	Headers    []Header
}

// RecordAt is record index of the series that contract.md defines.
func RecordAt(prefix string, index int) Record {
	var record Record
	if index%5 != 4 {
		record.Key = fmt.Appendf(nil, "%s-key-%d", prefix, index)
	}
	if index%10 != 6 {
		value := fmt.Appendf(nil, "%s-value-%d-", prefix, index)
		value = append(value, byte(index), 255, 0)
		record.Value = append(value, bytes.Repeat([]byte("x"), index*37%500)...)
	}
	if index%2 == 0 {
		record.Headers = []Header{
			{"index", fmt.Appendf(nil, "%d", index)},
			{"index", []byte("again")},
			{"binary", []byte{0, 255, byte(index)}},
		}
	}
	return record
}

// Received is a record with its place in the log.
type Received struct {
	Place
	Offset      int64
	TimestampMs int64
	Record
}

// Place is a partition of a topic.
type Place struct {
	Topic     string
	Partition int32
}

// MarshalJSON writes a pair of name and number.
func (p Place) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.Topic, p.Partition}) }

// Offsets are positions to commit.
type Offsets map[Place]int64

var printing sync.Mutex

// Emit prints an event.
func Emit(event string, fields map[string]any) {
	line := map[string]any{"event": event}
	for name, value := range fields {
		line[name] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	printing.Lock()
	defer printing.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

// EmitAcked prints an acknowledged record.
func EmitAcked(index int, partition int32, offset int64) {
	Emit("acked", map[string]any{"index": index, "partition": partition, "offset": offset})
}

// EmitRecord prints a record that was read.
func EmitRecord(r Received) {
	headers := make([][]any, 0, len(r.Headers))
	for _, header := range r.Headers {
		headers = append(headers, []any{header.Name, header.Value})
	}
	Emit("record", map[string]any{
		"topic": r.Topic, "partition": r.Partition, "offset": r.Offset, "timestamp": r.TimestampMs,
		"key": r.Key, "value": r.Value, "headers": headers,
	})
}

// EmitDrained prints where a record was and how long its value is.
func EmitDrained(partition int32, offset int64, size int) {
	Emit("drained", map[string]any{"partition": partition, "offset": offset, "size": size})
}

// EmitPartitions prints "assigned" or "revoked".
func EmitPartitions(event string, partitions []Place) {
	if partitions == nil {
		partitions = []Place{}
	}
	Emit(event, map[string]any{"partitions": partitions})
}

// EmitCommit prints the outcome of a commit.
func EmitCommit(offsets Offsets, err error) {
	if err != nil {
		Emit("commit_failed", map[string]any{"message": err.Error()})
		return
	}
	list := make([][]any, 0, len(offsets))
	for place, offset := range offsets {
		list = append(list, []any{place.Topic, place.Partition, offset})
	}
	Emit("committed", map[string]any{"offsets": list})
}

// Program is what a family implements.
type Program struct {
	Produce   func(*Options) error
	Consume   func(*Options) error
	Drain     func(*Options) error
	Join      func(*Options) (Member, error)
	Transact  func(*Options) (Transactor, error)
	Transform func(*Options) (Transformer, error)
}

// Main runs what the command line asks for.
func Main(program Program) {
	batch := os.Args[1] == "batch"
	control := newControl(batch)
	if !batch {
		run(program, os.Args[1:], control)
		return
	}
	for line, ok := control.next(); ok; line, ok = control.next() {
		run(program, strings.Fields(line), control)
	}
}

func run(program Program, words []string, control *control) {
	if err := runCommand(program, words, control); err != nil {
		Emit("error", map[string]any{"message": err.Error()})
		return
	}
	Emit("done", nil)
}

func runCommand(program Program, words []string, control *control) error {
	options, err := parse(words[0], words[1:])
	if err != nil {
		return err
	}
	switch words[0] {
	case "produce":
		return program.Produce(options)
	case "consume":
		return program.Consume(options)
	case "drain":
		return program.Drain(options)
	case "group":
		return runMember(program, options, control)
	case "transact":
		return runTransactor(program, options, control)
	case "transform":
		return runTransformer(program, options)
	}
	return fmt.Errorf("unknown command %q", words[0])
}

// control joins the lines of stdin and SIGTERM; its channel is closed at the end of either.
type control struct{ lines chan string }

func newControl(endOfInputLeaves bool) *control {
	lines, input := make(chan string, 16), make(chan string)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go scan(input, endOfInputLeaves)
	go func() {
		defer close(lines)
		for {
			select {
			case <-signals:
				return
			case line, ok := <-input:
				if !ok {
					return
				}
				lines <- line
			}
		}
	}()
	return &control{lines}
}

func scan(input chan<- string, endOfInputLeaves bool) {
	scanner := bufio.NewScanner(os.Stdin)
	for scanner.Scan() {
		input <- strings.TrimSpace(scanner.Text())
	}
	if endOfInputLeaves {
		close(input)
	}
}

func (c *control) next() (string, bool) {
	line, ok := <-c.lines
	return line, ok
}

// pending gives the lines that have arrived; the end is told as "leave".
func (c *control) pending() []string {
	var arrived []string
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return append(arrived, "leave")
			}
			arrived = append(arrived, line)
		default:
			return arrived
		}
	}
}
