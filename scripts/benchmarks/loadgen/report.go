package main

import (
	"encoding/json"
	"os"
	"slices"
	"time"
)

// tally is what one connection did.
type tally struct {
	requests  int64
	records   int64
	bytes     int64
	latencies []time.Duration
}

func (t *tally) add(started time.Time, records, bytes int64) {
	t.requests++
	t.records += records
	t.bytes += bytes
	t.latencies = append(t.latencies, time.Since(started))
}

// report is the JSON on standard output. Megabytes are 10^6 bytes of record batches.
type report struct {
	Requests           int64   `json:"requests"`
	Records            int64   `json:"records"`
	Bytes              int64   `json:"bytes"`
	Seconds            float64 `json:"seconds"`
	RequestsPerSecond  float64 `json:"requests_per_second"`
	MegabytesPerSecond float64 `json:"megabytes_per_second"`
	P50Ms              float64 `json:"p50_ms"`
	P99Ms              float64 `json:"p99_ms"`
	MaxMs              float64 `json:"max_ms"`
}

func summarise(tallies []*tally, elapsed time.Duration) report {
	r := report{Seconds: elapsed.Seconds()}
	var all []time.Duration
	for _, t := range tallies {
		r.Requests += t.requests
		r.Records += t.records
		r.Bytes += t.bytes
		all = append(all, t.latencies...)
	}
	r.RequestsPerSecond = float64(r.Requests) / r.Seconds
	r.MegabytesPerSecond = float64(r.Bytes) / r.Seconds / 1e6
	if len(all) > 0 {
		slices.Sort(all)
		r.P50Ms = milliseconds(all[len(all)/2])
		r.P99Ms = milliseconds(all[len(all)*99/100])
		r.MaxMs = milliseconds(all[len(all)-1])
	}
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func (r report) print() {
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		panic(err.Error())
	}
}
