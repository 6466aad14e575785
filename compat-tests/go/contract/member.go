package contract

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrLacking is answered by a client that has no such operation.
var ErrLacking = errors.New("this client has no such operation")

// Member is a group member as the loop below drives it; it prints its own rebalance events.
type Member interface {
	Poll(wait time.Duration) ([]Received, error)
	CommitSync(Offsets) error
	CommitAsync(Offsets) error
	Seek(Place, int64) error
	Pause(Place) error
	Resume(Place) error
	Close() error
}

type memberLoop struct {
	member              Member
	options             *Options
	read                Offsets
	count               int
	leaving             bool
	started, lastRecord time.Time
}

func runMember(program Program, options *Options, control *control) error {
	member, err := program.Join(options)
	if err != nil {
		return err
	}
	now := time.Now()
	loop := &memberLoop{member: member, options: options, read: Offsets{}, started: now, lastRecord: now}
	return errors.Join(loop.run(control), member.Close())
}

func (l *memberLoop) run(control *control) error {
	for !l.isOver() {
		if err := l.step(); err != nil {
			return err
		}
		for _, line := range control.pending() {
			if err := l.apply(line); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *memberLoop) isOver() bool {
	reached := func(limit int, used int64) bool { return limit > 0 && used >= int64(limit) }
	return l.leaving ||
		reached(l.options.Count, int64(l.count)) ||
		reached(l.options.IdleMs, time.Since(l.lastRecord).Milliseconds()) ||
		reached(l.options.TimeoutMs, time.Since(l.started).Milliseconds())
}

func (l *memberLoop) step() error {
	records, err := l.member.Poll(50 * time.Millisecond)
	if err != nil || len(records) == 0 {
		return err
	}
	fresh := Offsets{}
	for _, record := range records {
		EmitRecord(record)
		fresh[record.Place] = record.Offset + 1
		l.read[record.Place] = record.Offset + 1
	}
	l.count += len(records)
	l.lastRecord = time.Now()
	switch l.options.Commit {
	case "sync":
		EmitCommit(fresh, l.member.CommitSync(fresh))
	case "async":
		return l.member.CommitAsync(fresh)
	}
	return nil
}

func (l *memberLoop) apply(line string) error {
	words := strings.Fields(line)
	var err error
	switch words[0] {
	case "commit":
		EmitCommit(l.read, l.member.CommitSync(l.read))
	case "leave":
		l.leaving = true
	case "seek", "pause", "resume":
		err = l.applyTo(words)
	default:
		err = fmt.Errorf("unknown command %q", line)
	}
	if err == nil {
		Emit("applied", map[string]any{"command": line})
	}
	return err
}

func (l *memberLoop) applyTo(words []string) error {
	partition, err := strconv.Atoi(words[2])
	if err != nil {
		return err
	}
	place := Place{words[1], int32(partition)}
	switch words[0] {
	case "pause":
		return l.member.Pause(place)
	case "resume":
		return l.member.Resume(place)
	}
	offset, err := strconv.ParseInt(words[3], 10, 64)
	if err != nil {
		return err
	}
	return l.member.Seek(place, offset)
}
