// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/lifecycle"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/azure"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/gcs"
)

const policies = "../deploy/policies"

// policy is one of S3, as far as ours go.
type policy struct {
	Version   string
	Statement []statement
}

type statement struct {
	Sid       string `json:",omitempty"`
	Effect    string
	Action    any
	Resource  string
	Condition any `json:",omitempty"`
}

// readPolicy reads a policy for the bucket and the prefix of a deck, without one of its actions.
func readPolicy(t *testing.T, name, deckURL, without string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(policies, "s3", name))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(deckURL)
	if err != nil {
		t.Fatal(err)
	}
	prefix := strings.Trim(u.Path, "/")
	here := strings.NewReplacer("my-tapes/prod/", u.Host+"/"+prefix+"/", "my-tapes", u.Host, `"prod/*"`, `"`+prefix+`/*"`, `"prod"`, `"`+prefix+`"`).Replace(string(text))
	var p policy
	if err := json.Unmarshal([]byte(here), &p); err != nil {
		t.Fatal(err)
	}
	seen := without == ""
	for i := range p.Statement {
		s := &p.Statement[i]
		actions := actionsOf(s.Action)
		kept := slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return a == without })
		seen = seen || len(kept) < len(actions)
		s.Action = kept
	}
	p.Statement = slices.DeleteFunc(p.Statement, func(s statement) bool { return len(actionsOf(s.Action)) == 0 })
	if !seen {
		t.Fatalf("%s has no action %s", name, without)
	}
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func actionsOf(v any) (actions []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, a := range v {
			actions = append(actions, a.(string))
		}
	case []string:
		return v
	}
	return actions
}

// under makes this process, and those that it starts, somebody with a policy, and nothing else.
func under(t *testing.T, service decktest.Service, policy string) {
	t.Helper()
	root := map[string]string{}
	for _, e := range service.Env {
		name, value, _ := strings.Cut(e, "=")
		root[name] = value
	}
	c, err := credentials.NewSTSAssumeRole(service.Endpoint, credentials.STSAssumeRoleOptions{
		AccessKey: root["AWS_ACCESS_KEY_ID"], SecretKey: root["AWS_SECRET_ACCESS_KEY"], Policy: policy, DurationSeconds: 3600,
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.GetWithContext(nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, policy)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", v.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", v.SecretAccessKey)
	t.Setenv("AWS_SESSION_TOKEN", v.SessionToken)
	t.Setenv("TAPEDECK_CACHE", "off")
}

// commandFails runs a command and returns what it says when it fails.
func commandFails(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, "tapedeck"), args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state(t))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	return fmt.Sprintf("tapedeck %s: %v: %.300s", args[0], err, out)
}

// exported stores traces with the exporter, one call each, and says when it fails.
func exported(t *testing.T, address, layout string, n int) string {
	t.Helper()
	f := tapeexporter.NewFactory()
	cfg := f.CreateDefaultConfig().(*tapeexporter.Config)
	cfg.Deck, cfg.Layout, cfg.Gate, cfg.Reel.MaxRuns, cfg.Retry.Enabled = address, layout, "off", 1, false
	e, err := f.CreateTraces(t.Context(), exportertest.NewNopSettings(f.Type()), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		return "start of the exporter: " + err.Error()
	}
	defer func() { _ = e.Shutdown(context.Background()) }()
	for i := range n {
		if err := e.ConsumeTraces(t.Context(), another(t, uint32(i+1))); err != nil {
			return "exporter: " + err.Error()
		}
	}
	return ""
}

// writersWork is what a writer does, in both layouts: exporter, compaction, retention, lists. It returns what failed.
func writersWork(t *testing.T, deckURL, round string) (failed []string) {
	t.Helper()
	for _, layout := range []string{"files", "reels"} {
		address := beside(deckURL, round+"-"+layout)
		steps := []func() string{
			func() string { return exported(t, address, layout, 3) },
			func() string { return commandFails(t, "ls", address) },
			func() string { return commandFails(t, "verify", address) },
		}
		if layout == "reels" {
			steps = append(steps, func() string { return commandFails(t, "compact", address, "--grace", "0s") })
		}
		steps = append(steps,
			func() string { return commandFails(t, "gc", address, "--erase", traceID(another(t, 1)), "--yes") },
			func() string { return commandFails(t, "verify", address, "--erased") })
		for _, step := range steps {
			if f := step(); f != "" {
				failed = append(failed, layout+": "+f)
			}
		}
	}
	return failed
}

// The policy of deploy/policies/s3 is enough for exporter, compaction, retention and readers on a server that enforces it, and each action of it is
// needed by one of them.
func TestTheS3PolicyIsEnoughAndNothingInItIsIdle(t *testing.T) {
	service := decktest.MinIO(t)
	within := beside(service.URL, "within") // the policy is that of this prefix
	round := func(name, policyFile, without string, work func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			under(t, service, readPolicy(t, policyFile, within, without))
			work(t)
		})
	}
	below := func(name string) string { return strings.Replace(within, "-within", "-within/"+name, 1) }
	round("writer", "writer.json", "", func(t *testing.T) {
		if failed := writersWork(t, below("whole"), "x"); len(failed) > 0 {
			t.Errorf("the policy is not enough:\n%s", strings.Join(failed, "\n"))
		}
		if f := exported(t, beside(service.URL, "elsewhere"), "files", 1); f == "" {
			t.Error("the policy lets a writer write beside its prefix")
		}
	})
	for _, action := range []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"} {
		round("writer without "+action, "writer.json", action, func(t *testing.T) {
			failed := writersWork(t, below("without"), strings.ToLower(action[3:]))
			if len(failed) == 0 {
				t.Errorf("nothing needs %s", action)
			}
			for _, f := range failed {
				if strings.Contains(f, `"removed":true`) {
					t.Errorf("what failed is said to be gone: %s", f)
				}
			}
			t.Logf("without %s fails: %s", action, strings.Join(failed, "\n"))
		})
	}
	whole := beside(below("whole"), "x-reels")
	readers := []func(t *testing.T) string{
		func(t *testing.T) string { return commandFails(t, "ls", whole) },
		func(t *testing.T) string { return commandFails(t, "show", traceID(another(t, 2)), "--deck", whole) },
		func(t *testing.T) string { return commandFails(t, "verify", beside(below("whole"), "x-files")) },
	}
	work := func(t *testing.T) (failed []string) {
		for _, read := range readers {
			if f := read(t); f != "" {
				failed = append(failed, f)
			}
		}
		return failed
	}
	round("reader", "reader.json", "", func(t *testing.T) {
		if failed := work(t); len(failed) > 0 {
			t.Errorf("the policy is not enough:\n%s", strings.Join(failed, "\n"))
		}
		if f := exported(t, whole, "reels", 1); f == "" {
			t.Error("a reader writes")
		}
		if f := commandFails(t, "gc", whole, "--erase", traceID(another(t, 3)), "--yes"); f == "" {
			t.Error("a reader erases")
		}
	})
	for _, action := range []string{"s3:GetObject", "s3:ListBucket"} {
		round("reader without "+action, "reader.json", action, func(t *testing.T) {
			if failed := work(t); len(failed) == 0 {
				t.Errorf("nothing needs %s", action)
			}
		})
	}
	for _, name := range []string{"writer.json", "reader.json"} {
		var p policy
		if err := json.Unmarshal([]byte(readPolicy(t, name, within, "")), &p); err != nil {
			t.Fatal(err)
		}
		all := 0
		for _, s := range p.Statement {
			all += len(actionsOf(s.Action))
		}
		if want := map[string]int{"writer.json": 4, "reader.json": 2}[name]; all != want {
			t.Errorf("%s has %d actions, of which %d were tried", name, all, want)
		}
	}
}

// The rule that ends old versions is one that a server takes, and it ends nothing that is current.
func TestTheS3LifecycleRuleEndsOldVersionsOnly(t *testing.T) {
	service := decktest.MinIO(t)
	text, err := os.ReadFile(filepath.Join(policies, "s3", "lifecycle.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Rules []struct {
			ID, Status                  string
			Filter                      struct{ Prefix string }
			NoncurrentVersionExpiration struct{ NoncurrentDays int }
			Expiration                  map[string]any
		}
	}
	if err := json.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	c := lifecycle.NewConfiguration()
	for _, r := range rules.Rules {
		if len(r.Expiration) != 1 || r.Expiration["ExpiredObjectDeleteMarker"] != true {
			t.Errorf("rule %s ends current objects: %v", r.ID, r.Expiration)
		}
		if r.NoncurrentVersionExpiration.NoncurrentDays < 1 {
			t.Errorf("rule %s ends no old version", r.ID)
		}
		c.Rules = append(c.Rules, lifecycle.Rule{
			ID: r.ID, Status: r.Status, RuleFilter: lifecycle.Filter{Prefix: r.Filter.Prefix},
			NoncurrentVersionExpiration: lifecycle.NoncurrentVersionExpiration{NoncurrentDays: lifecycle.ExpirationDays(r.NoncurrentVersionExpiration.NoncurrentDays)},
			Expiration:                  lifecycle.Expiration{DeleteMarker: true},
		})
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client, err := minio.New(strings.TrimPrefix(service.Endpoint, "http://"), &minio.Options{Creds: credentials.NewEnvAWS(), Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(service.URL)
	if err := client.EnableVersioning(t.Context(), u.Host); err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skip("the rules were read and not set: the server keeps no versions on this disk: ", err)
	}
	if err := client.SetBucketLifecycle(t.Context(), u.Host, c); err != nil {
		t.Fatal(err)
	}
}

// asked passes requests on to a storage service and notes what they need.
func asked(t *testing.T, endpoint string, needs func(*http.Request) string) (address string, needed func() []string) {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	proxy := httputil.NewSingleHostReverseProxy(u)
	transport := &http.Transport{}
	proxy.Transport = transport
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[needs(r)] = true
		mu.Unlock()
		r.Host = u.Host // the emulator looks at it
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(transport.CloseIdleConnections)
	return strings.TrimPrefix(server.URL, "http://"), func() (all []string) {
		mu.Lock()
		defer mu.Unlock()
		for n := range seen {
			all = append(all, n)
		}
		slices.Sort(all)
		return all
	}
}

// The emulators of Google Cloud Storage and Azure enforce no policy. What is compared is the requests that the drivers send for a writer's work with the
// permissions that the services document for them: the role has these and no others.
func TestRolesOfTheOtherCloudsAreWhatTheDriversAskFor(t *testing.T) {
	t.Run("gcs", func(t *testing.T) {
		service := decktest.GCS(t)
		address, needed := asked(t, service.Endpoint, func(r *http.Request) string {
			object := strings.Contains(r.URL.Path, "/o/") && !strings.HasSuffix(r.URL.Path, "/o/") || !strings.HasPrefix(r.URL.Path, "/storage/") && !strings.HasPrefix(r.URL.Path, "/upload/")
			switch {
			case r.Method == http.MethodPost || r.Method == http.MethodPut:
				return "storage.objects.create"
			case r.Method == http.MethodDelete:
				return "storage.objects.delete"
			case r.Method == http.MethodGet && object:
				return "storage.objects.get"
			case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/o"):
				return "storage.objects.list"
			}
			return r.Method + " " + r.URL.Path
		})
		t.Setenv("STORAGE_EMULATOR_HOST", address)
		workInProcess(t, service.URL)
		var role struct {
			Permissions []string `yaml:"includedPermissions"`
		}
		readInto(t, "gcs/writer.yaml", func(b []byte) error { return yaml.Unmarshal(b, &role) })
		if !slices.Equal(needed(), role.Permissions) {
			t.Errorf("the driver needs %v, the role has %v", needed(), role.Permissions)
		}
	})
	t.Run("azure", func(t *testing.T) {
		service := decktest.Azurite(t)
		const blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/"
		address, needed := asked(t, service.Endpoint, func(r *http.Request) string {
			switch {
			case r.Method == http.MethodPut:
				return blobs + "write"
			case r.Method == http.MethodDelete:
				return blobs + "delete"
			case r.Method == http.MethodGet || r.Method == http.MethodHead:
				return blobs + "read" // lists are reads of blobs there
			}
			return r.Method + " " + r.URL.Path
		})
		workInProcess(t, strings.Replace(service.URL, strings.TrimPrefix(service.Endpoint, "http://"), address, 1))
		var role struct{ DataActions []string }
		readInto(t, "azure/writer.json", func(b []byte) error { return json.Unmarshal(b, &role) })
		if have := slices.Sorted(slices.Values(role.DataActions)); !slices.Equal(needed(), have) {
			t.Errorf("the driver needs %v, the role has %v", needed(), have)
		}
	})
}

func readInto(t *testing.T, name string, read func([]byte) error) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(policies, name))
	if err == nil {
		err = read(body)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// workInProcess stores, reads and takes away a trace.
func workInProcess(t *testing.T, address string) {
	t.Helper()
	if f := exported(t, address, "files", 2); f != "" {
		t.Fatal(f)
	}
	d, err := deck.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	n := 0
	for l, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		state, err := d.State(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		for _, digest := range state.Parts {
			if _, err := d.ReadPart(t.Context(), l, digest); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.Bury(t.Context(), l, deck.Burial{Reason: deck.ReasonRequest}); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Fatalf("%d traces", n)
	}
}
