package contract

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Transactor is a transactional producer as the loop below drives it.
type Transactor interface {
	Init() error
	Begin() error
	Send(place Place, records []Record) error
	Commit() error
	Abort() error
	Close()
}

func runTransactor(program Program, options *Options, control *control) error {
	if program.Transact == nil {
		return ErrLacking
	}
	transactor, err := program.Transact(options)
	if err != nil {
		return err
	}
	defer transactor.Close()
	for line, ok := control.next(); ok && line != "leave"; line, ok = control.next() {
		if err := applyTo(transactor, strings.Fields(line)); err != nil {
			Emit("refused", map[string]any{"command": line, "message": err.Error()})
		} else {
			Emit("applied", map[string]any{"command": line})
		}
	}
	return nil
}

func applyTo(transactor Transactor, words []string) error {
	switch words[0] {
	case "init":
		return transactor.Init()
	case "begin":
		return transactor.Begin()
	case "send":
		partition, err := strconv.Atoi(words[2])
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(words[3])
		if err != nil {
			return err
		}
		records := make([]Record, count)
		for index := range records {
			records[index] = RecordAt(words[4], index)
		}
		return transactor.Send(Place{words[1], int32(partition)}, records)
	case "commit":
		return transactor.Commit()
	case "abort":
		return transactor.Abort()
	}
	return fmt.Errorf("unknown command %q", words[0])
}

// Transformer is a group member that writes what it reads, with the offsets, in transactions.
type Transformer interface {
	Poll(most int, wait time.Duration) ([]Received, error)
	Begin() error
	Send(place Place, records []Record) error
	// End commits with the offsets behind the records, or aborts and goes back to before them.
	End(received []Received, commit bool) error
	Close()
}

func runTransformer(program Program, options *Options) error {
	if program.Transform == nil {
		return ErrLacking
	}
	transformer, err := program.Transform(options)
	if err != nil {
		return err
	}
	defer transformer.Close()
	deadline := time.Now().Add(time.Duration(options.TimeoutMs) * time.Millisecond)
	commit := false
	for left := options.Count; left > 0; {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d records are left", left)
		}
		received, err := transformer.Poll(options.Batch, 100*time.Millisecond)
		if err != nil {
			return err
		}
		if len(received) == 0 {
			continue
		}
		if err := transform(transformer, options.To, received, commit); err != nil {
			return err
		}
		if commit {
			left -= len(received)
		}
		commit = true
	}
	return nil
}

func transform(transformer Transformer, topic string, received []Received, commit bool) error {
	if err := transformer.Begin(); err != nil {
		return err
	}
	for _, each := range received {
		if err := transformer.Send(Place{topic, each.Partition}, []Record{each.Record}); err != nil {
			return err
		}
	}
	if err := transformer.End(received, commit); err != nil {
		return err
	}
	if commit {
		EmitCommit(PositionsAfter(received), nil)
	} else {
		Emit("aborted", map[string]any{"count": len(received)})
	}
	return nil
}

// PositionsAfter are the offsets behind the last record of each partition.
func PositionsAfter(received []Received) Offsets {
	offsets := Offsets{}
	for _, each := range received {
		offsets[each.Place] = each.Offset + 1
	}
	return offsets
}
