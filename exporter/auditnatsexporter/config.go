// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package auditnatsexporter // import "github.com/tapedeck/tapedeck/exporter/auditnatsexporter"

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/config/configtls"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck"
)

// Config is the user's settings of the audit_nats exporter.
type Config struct {
	// Servers are URLs such as nats://host:4222 or tls://host:4222. They hold no credentials.
	Servers []string `mapstructure:"servers"`
	// Subject is where production records go, ReplaySubject where those of replays go.
	Subject       string `mapstructure:"subject"`
	ReplaySubject string `mapstructure:"replay_subject"`
	// SubjectAttribute names an attribute of a record or its resource that chooses the subject of a production record, among AllowedSubjects.
	SubjectAttribute string   `mapstructure:"subject_attribute"`
	AllowedSubjects  []string `mapstructure:"allowed_subjects"`
	// Stream has to be the one that acknowledges, if it is given.
	Stream string `mapstructure:"stream"`
	// Tags say what tells replays from production.
	Tags segregation.Config `mapstructure:",squash"`
	// MaxOutstandingBytes bounds what is on its way to the server and not acknowledged, in all calls together.
	MaxOutstandingBytes int64 `mapstructure:"max_outstanding_bytes"`

	Auth AuthConfig                                      `mapstructure:"auth"`
	TLS  configoptional.Optional[configtls.ClientConfig] `mapstructure:"tls"`

	// Timeout bounds one attempt, acknowledgements included.
	Timeout exporterhelper.TimeoutConfig `mapstructure:",squash"`
	// Retry repeats what was not acknowledged; max_elapsed_time 0 repeats without end.
	Retry configretry.BackOffConfig `mapstructure:"retry_on_failure"`
	// Queue is off by default: an audit record that was acknowledged is in the stream.
	Queue configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`
}

// AuthConfig is one way to log in, or none.
type AuthConfig struct {
	// CredentialsFile holds a user JWT and its key (.creds), NKeyFile a seed.
	CredentialsFile string              `mapstructure:"credentials_file"`
	NKeyFile        string              `mapstructure:"nkey_file"`
	Token           configopaque.String `mapstructure:"token"`
	Username        string              `mapstructure:"username"`
	Password        configopaque.String `mapstructure:"password"`
}

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	retry := configretry.NewDefaultBackOffConfig()
	retry.MaxElapsedTime = 0 // retry without end: audit records must not be dropped
	timeout := exporterhelper.NewDefaultTimeoutConfig()
	timeout.Timeout = 30 * time.Second
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.WaitForResult = true
	queue.BlockOnOverflow = true
	queue.Batch = configoptional.None[exporterhelper.BatchConfig]()
	return &Config{
		Subject:       "auditEvent",
		ReplaySubject: "replayEvent",
		// A stream answers "too many requests" long before its machine is busy, when large messages wait for their acknowledgement.
		MaxOutstandingBytes: 8 << 20,
		TLS:                 configoptional.Default(configtls.NewDefaultClientConfig()),
		Timeout:             timeout,
		Retry:               retry,
		Queue:               configoptional.Default(queue),
	}
}

// Unmarshal refuses numbers that a setting cannot hold.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

// Validate reports every setting that cannot work. No error repeats a URL or a secret.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Servers) == 0 {
		fail("servers is required, such as nats://127.0.0.1:4222")
	}
	for i, server := range c.Servers {
		u, err := url.Parse(server)
		switch {
		case err != nil:
			fail("servers::%d is not a URL", i)
		case u.User != nil:
			fail("servers::%d holds credentials; they belong under auth", i)
		case !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) || u.Host == "":
			fail("servers::%d is not of the form nats://host:port, tls://host:port, ws://host:port or wss://host:port", i)
		}
	}
	for name, subject := range map[string]string{"subject": c.Subject, "replay_subject": c.ReplaySubject} {
		if !validSubject(subject) {
			fail("%s %q is not a subject to publish under", name, subject)
		}
	}
	if c.Subject == c.ReplaySubject {
		fail("subject and replay_subject are the same: what must not meet would meet there")
	}
	for _, subject := range c.AllowedSubjects {
		if !validSubject(subject) {
			fail("allowed_subjects has %q, which is not a subject to publish under", subject)
		}
		if subject == c.ReplaySubject {
			fail("allowed_subjects has the replay_subject: a production record could choose it")
		}
	}
	if (c.SubjectAttribute == "") != (len(c.AllowedSubjects) == 0) {
		fail("subject_attribute and allowed_subjects need each other: a sender must not choose any subject")
	}
	if _, err := c.Tags.Rules(); err != nil {
		errs = append(errs, err)
	}
	if c.MaxOutstandingBytes <= 0 {
		fail("max_outstanding_bytes must be positive, got %d", c.MaxOutstandingBytes)
	}
	if c.Queue.HasValue() {
		if q := c.Queue.Get(); !q.WaitForResult && q.NumConsumers != 1 {
			fail("sending_queue: without wait_for_result, num_consumers must be 1: the next call of a process would overtake the one before")
		}
	}
	return errors.Join(append(errs, c.Auth.validate())...)
}

func (a AuthConfig) validate() error {
	ways := 0
	for _, given := range []bool{a.CredentialsFile != "", a.NKeyFile != "", a.Token != "", a.Username != "" || a.Password != ""} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return errors.New("auth has more than one way to log in")
	}
	if a.Password != "" && a.Username == "" {
		return errors.New("auth has a password without a username")
	}
	return nil
}

// validSubject accepts what a message can be published under: tokens between dots, no wildcards, no blanks, not the namespaces of the server.
func validSubject(s string) bool {
	const most = 255
	if len(s) > most || strings.HasPrefix(s, "$") || strings.HasPrefix(s, "_INBOX.") {
		return false
	}
	for token := range strings.SplitSeq(s, ".") {
		if token == "" || strings.ContainsAny(token, "*>") || strings.ContainsFunc(token, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
			return false
		}
	}
	return true
}
