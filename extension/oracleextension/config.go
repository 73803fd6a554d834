// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracleextension // import "github.com/tapedeck/tapedeck/extension/oracleextension"

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/confmap"

	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
)

// Config is the user's settings of the oracle extension.
type Config struct {
	// HTTP is where to listen and who may ask.
	HTTP confighttp.ServerConfig `mapstructure:",squash"`

	// Deck is the URL of the deck, such as file:///var/lib/tapes or s3://bucket/prefix.
	Deck string `mapstructure:"deck"`

	// Tenant is the only tenant whose runs are answered from; empty: all. Whoever may ask the extension may ask for every run behind it.
	Tenant string `mapstructure:"tenant"`

	// Rules is a rules file, Tools are files with declarations of tools; Live and Refuse are names of tools.
	Rules  string   `mapstructure:"rules"`
	Tools  []string `mapstructure:"tools"`
	Live   []string `mapstructure:"live"`
	Refuse []string `mapstructure:"refuse"`

	// RedactionKey is the key of the redaction that the tapes went through: with it, a live value is matched with its token.
	RedactionKey KeyConfig `mapstructure:"redaction_key"`

	// Speed replays recorded latencies: 1 as recorded, 10 ten times as fast, 0 not at all.
	Speed float64 `mapstructure:"speed"`

	// MaxSessions and MaxCalls bound what is held in memory; SessionAge is how long a session may be without requests.
	MaxSessions int           `mapstructure:"max_sessions"`
	MaxCalls    int           `mapstructure:"max_calls"`
	SessionAge  time.Duration `mapstructure:"session_age"`
}

// KeyConfig names the source of a key. The key itself never stands in the configuration, which collectors print.
type KeyConfig struct {
	// File holds a key of at least 32 bytes.
	File string `mapstructure:"file"`
	// Env is the name of an environment variable that holds one.
	Env string `mapstructure:"env"`
	// Scope is that of the redaction.
	Scope string `mapstructure:"scope"`
}

// load returns nil when no key is named.
func (c *KeyConfig) load() (oracle.TokenVerifier, error) {
	switch {
	case c.File != "":
		return redact.KeyFromFile(c.File, c.Scope)
	case c.Env != "":
		return redact.KeyFromEnv(c.Env, c.Scope)
	}
	return nil, nil
}

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	server.NetAddr = confignet.AddrConfig{Transport: confignet.TransportTypeTCP, Endpoint: "localhost:8321"}
	server.MaxRequestBodySize = oraclehttp.DefaultMaxBody
	server.ReadHeaderTimeout = 10 * time.Second
	server.ReadTimeout = time.Minute
	return &Config{HTTP: server, MaxSessions: oraclehttp.DefaultMaxSessions, MaxCalls: oracle.DefaultMaxCalls, SessionAge: oraclehttp.DefaultSessionAge}
}

// Unmarshal refuses numbers that a setting cannot hold.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

// Validate reports every setting that cannot work or is not safe.
func (c *Config) Validate() error {
	var errs []error
	if err := validateDeck(c.Deck); err != nil {
		errs = append(errs, err)
	}
	if c.HTTP.CORS.HasValue() {
		errs = append(errs, errors.New("cors is not available: web pages are not served"))
	}
	if !c.private() && !c.HTTP.Auth.HasValue() && !c.clientCertificates() {
		errs = append(errs, fmt.Errorf("%w: configure auth, or tls with client_ca_file (endpoint %s)", oraclehttp.ErrOpen, c.HTTP.NetAddr.Endpoint))
	}
	if c.MaxSessions < 1 || c.MaxCalls < 1 || c.SessionAge <= 0 {
		errs = append(errs, errors.New("max_sessions, max_calls and session_age must be positive"))
	}
	if c.RedactionKey.File != "" && c.RedactionKey.Env != "" {
		errs = append(errs, errors.New("redaction_key must be a file or env, not both"))
	}
	if c.Speed < 0 {
		errs = append(errs, errors.New("speed must not be negative"))
	}
	return errors.Join(errs...)
}

// private reports whether only this machine reaches the endpoint.
func (c *Config) private() bool {
	return c.HTTP.NetAddr.Transport == confignet.TransportTypeUnix || oraclehttp.Loopback(c.HTTP.NetAddr.Endpoint)
}

func (c *Config) clientCertificates() bool {
	return c.HTTP.TLS.HasValue() && c.HTTP.TLS.Get().ClientCAFile != ""
}

// validateDeck checks the form of the URL only; which schemes there are depends on the drivers that are linked, and Start says so.
// Errors do not repeat the URL: it may carry credentials.
func validateDeck(deck string) error {
	if deck == "" {
		return errors.New("deck is required, such as file:///var/lib/tapes or s3://bucket/prefix")
	}
	if u, err := url.Parse(deck); err != nil {
		return errors.New("deck is not a URL")
	} else if u.Scheme == "" {
		return errors.New("deck has no scheme; a folder is written as file:///path")
	}
	return nil
}
