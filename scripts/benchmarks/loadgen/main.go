// Loadgen sends frames that are encoded once and stamped in place, so that the broker and not
// the load is what a benchmark measures. It prints one line of JSON.
//
//	loadgen produce -address 127.0.0.1:9092 -topic t -connections 16 -seconds 5
package main

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"time"
)

type options struct {
	address     string
	topic       string
	partitions  int
	connections int
	depth       int
	records     int
	valueBytes  int
	acks        int
	idempotent  bool
	keys        bool
	maxBytes    int
	seconds     float64
	bytes       int64
	timestampMs int64
	stepMs      int64
	spanMs      int64
	version     int
	ids         int
	pauseMs     float64
}

// goesOn tells a connection that has sent or read so many bytes whether to go on.
func (o options) goesOn(done int64, deadline time.Time) bool {
	if o.bytes > 0 && done >= o.bytes/int64(o.connections) {
		return false
	}
	return time.Now().Before(deadline)
}

var modes = map[string]func(o options, index int, deadline time.Time) *tally{
	"produce":      produce,
	"fetch":        fetch,
	"end-to-end":   endToEnd,
	"seek":         seek,
	"list-offsets": lookUp,
	"group":        freshGroup,
	"transactions": transactions,
	"many-ids":     manyIDs,
	"describe-ids": describeIDs,
}

func parse(arguments []string) options {
	var o options
	flags := flag.NewFlagSet("loadgen", flag.ExitOnError)
	flags.StringVar(&o.address, "address", "127.0.0.1:9092", "the broker")
	flags.StringVar(&o.topic, "topic", "", "an existing topic")
	flags.IntVar(&o.partitions, "partitions", 1, "connection n uses partition n modulo this")
	flags.IntVar(&o.connections, "connections", 1, "connections at a time")
	flags.IntVar(&o.depth, "depth", 1, "produce: requests in flight per connection")
	flags.IntVar(&o.records, "records", 1, "produce: records per batch")
	flags.IntVar(&o.valueBytes, "size", 100, "produce: bytes of each value")
	flags.IntVar(&o.acks, "acks", -1, "produce: 1 or -1")
	flags.BoolVar(&o.idempotent, "idempotent", false, "produce: with producer id and sequences")
	flags.BoolVar(&o.keys, "keys", false, "produce: a new key of eight bytes for every record")
	flags.IntVar(&o.maxBytes, "max-bytes", 1<<20, "fetch and seek: bytes of one answer")
	flags.Float64Var(&o.seconds, "seconds", 5, "stop after so long")
	flags.Int64Var(&o.bytes, "bytes", 0, "stop after so many bytes of batches; 0 for no limit")
	flags.Int64Var(&o.timestampMs, "timestamp", 1_700_000_000_000, "timestamp of the first batch, ms")
	flags.Int64Var(&o.stepMs, "step", 0, "produce: ms between the timestamps of batches")
	flags.Int64Var(&o.spanMs, "span", 1, "list-offsets: look up times this far from -timestamp on, ms")
	flags.IntVar(&o.version, "version", 2, "transactions: 1 or 2, of the protocol")
	flags.Float64Var(&o.pauseMs, "pause", 0, "transactions: ms from a commit to the next beginning")
	flags.IntVar(&o.ids, "ids", 1, "many-ids, describe-ids: how many transactional ids")
	if err := flags.Parse(arguments); err != nil {
		os.Exit(2)
	}
	return o
}

func main() {
	if len(os.Args) < 2 || modes[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: loadgen produce|fetch|end-to-end|seek|list-offsets|group|transactions|many-ids|describe-ids [flags]")
		os.Exit(2)
	}
	run(modes[os.Args[1]], parse(os.Args[2:])).print()
}

// run drives every connection in a goroutine of its own; the first problem ends all.
func run(mode func(options, int, time.Time) *tally, o options) report {
	tallies := make([]*tally, o.connections)
	started := time.Now()
	deadline := started.Add(time.Duration(o.seconds * float64(time.Second)))
	var group sync.WaitGroup
	for i := range tallies {
		group.Add(1)
		go func() {
			defer group.Done()
			defer exitOnPanic()
			tallies[i] = mode(o, i, deadline)
		}()
	}
	group.Wait()
	return summarise(tallies, time.Since(started))
}

func exitOnPanic() {
	if problem := recover(); problem != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", problem)
		os.Exit(1)
	}
}
