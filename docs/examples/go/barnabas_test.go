// A Kafka broker for Go tests. Copy this file into your package; it needs the standard library, and
// `barnabas` on the path (pip install barnabas) or its place in the environment variable BARNABAS.
//
//	func TestOrders(t *testing.T) {
//		broker := startBarnabas(t)
//		client, err := kgo.NewClient(kgo.SeedBrokers(broker.BootstrapServers))
//
// The broker ends with its test, and with the process however that ends: its standard input does.

package orders

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Barnabas is a broker in a process of its own.
type Barnabas struct {
	BootstrapServers string
	control          string
	t                testing.TB
}

// Fields are the fields of a command, as docs/testing.md has them.
type Fields map[string]any

// startBarnabas starts a broker for one test; settings are Kafka's, as "name=value".
func startBarnabas(t testing.TB, settings ...string) *Barnabas {
	t.Helper()
	program := os.Getenv("BARNABAS")
	if program == "" {
		program = "barnabas"
	}
	arguments := []string{"start", "--test"}
	for _, setting := range settings {
		arguments = append(arguments, "--set", setting)
	}
	command := exec.Command(program, arguments...)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("%v: install it with `pip install barnabas`", err)
	}
	t.Cleanup(func() {
		input.Close()
		late := time.AfterFunc(10*time.Second, func() { command.Process.Kill() })
		command.Wait()
		late.Stop()
	})
	broker, lines := &Barnabas{t: t}, bufio.NewReader(output)
	broker.BootstrapServers = wordAfter(t, lines, "listening on ")
	broker.control = wordAfter(t, lines, "control on ")
	go io.Copy(io.Discard, lines)
	return broker
}

func wordAfter(t testing.TB, lines *bufio.Reader, beginning string) string {
	t.Helper()
	line, err := lines.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, beginning) {
		t.Fatalf("barnabas did not start: %q", line)
	}
	return strings.Fields(strings.TrimPrefix(line, beginning))[0]
}

// Ask gives a command of the control, without /control in the path, and returns its answer.
func (b *Barnabas) Ask(method, path string, fields Fields) (Fields, error) {
	var body io.Reader = http.NoBody
	if fields != nil {
		text, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, b.control+"/control"+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var found Fields
	if err := json.NewDecoder(answer.Body).Decode(&found); err != nil {
		return nil, err
	}
	if answer.StatusCode >= 400 {
		return nil, fmt.Errorf("%v", found["error"])
	}
	return found, nil
}

// must gives a command whose failure ends the test.
func (b *Barnabas) must(method, path string, fields Fields) Fields {
	b.t.Helper()
	found, err := b.Ask(method, path, fields)
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// CreateTopic returns when the topic has leaders.
func (b *Barnabas) CreateTopic(name string, partitions int) {
	b.t.Helper()
	b.must("POST", "/topics", Fields{"name": name, "partitions": partitions})
}

// Clear deletes all topics and groups, and takes all faults back.
func (b *Barnabas) Clear() { b.must("POST", "/clear", Fields{}) }

// Advance lets time pass at once: "7 days", "90 s".
func (b *Barnabas) Advance(duration string) {
	b.t.Helper()
	b.must("POST", "/clock/advance", Fields{"duration": duration})
}

// Kill stops the broker as a crash would; Start brings it back on the same port.
func (b *Barnabas) Kill()  { b.must("POST", "/broker/kill", Fields{}) }
func (b *Barnabas) Start() { b.must("POST", "/broker/start", Fields{}) }

// Fault is one in force, or taken back.
type Fault struct {
	broker *Barnabas
	path   string
}

// AddFault lets something go wrong: action, api, topic, partition, client_id, skip, times, error...
func (b *Barnabas) AddFault(fields Fields) Fault {
	b.t.Helper()
	return Fault{b, fmt.Sprintf("/faults/%v", b.must("POST", "/faults", fields)["id"])}
}

// Hits is how many requests it happened to.
func (f Fault) Hits() int { return int(f.broker.must("GET", f.path, nil)["hits"].(float64)) }

// Remove takes it back.
func (f Fault) Remove() { f.broker.must("DELETE", f.path, nil) }
