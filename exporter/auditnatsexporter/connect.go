// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package auditnatsexporter // import "github.com/tapedeck/tapedeck/exporter/auditnatsexporter"

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"
)

// options are those of a connection that reconnects without end and buffers nothing while it is down: unsent records stay with the sender.
func (e *auditExporter) options(ctx context.Context) (nats.Options, error) {
	o := nats.GetDefaultOptions()
	o.Servers = e.cfg.Servers
	o.Name = "tapedeck audit_nats"
	o.RetryOnFailedConnect = true
	o.MaxReconnect = -1
	o.ReconnectBufSize = -1
	o.DisconnectedErrCB = func(_ *nats.Conn, err error) {
		if err != nil { // nil at shutdown
			e.logger.Warn("NATS is away", zap.Error(err))
		}
	}
	o.ReconnectedCB = func(c *nats.Conn) {
		e.logger.Info("NATS is back", zap.String("server", c.ConnectedUrlRedacted()))
	}
	o.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) {
		e.logger.Warn("NATS reports an error", zap.Error(err))
	}
	if e.cfg.TLS.HasValue() {
		config, err := e.cfg.TLS.Get().LoadTLSConfig(ctx)
		if err != nil {
			return o, fmt.Errorf("load TLS configuration: %w", err)
		}
		if config != nil { // nil: insecure
			o.Secure, o.TLSConfig = true, config
		}
	}
	auth := e.cfg.Auth
	o.Token = string(auth.Token)
	o.User, o.Password = auth.Username, string(auth.Password)
	if auth.CredentialsFile != "" {
		if err := nats.UserCredentials(auth.CredentialsFile)(&o); err != nil {
			return o, fmt.Errorf("use credentials file: %w", err)
		}
	}
	if auth.NKeyFile != "" {
		key, err := nats.NkeyOptionFromSeed(auth.NKeyFile)
		if err != nil {
			return o, fmt.Errorf("use nkey file: %w", err)
		}
		if err := key(&o); err != nil {
			return o, fmt.Errorf("use nkey file: %w", err)
		}
	}
	return o, nil
}

// cause is why a record was not published. It is the attribute "cause" of the metric.
type cause string

const (
	failed   cause = "failed"
	noStream cause = "no_stream"
	tooLarge cause = "too_large"
)

// causeOf treats an unknown error as an outage, because a needless retry loses nothing.
func causeOf(err error) cause {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return tooLarge
	// A stream answers this when the message exceeds its own limit. Above the limit of its connection the client refuses by itself.
	case errors.As(err, &api) && api.ErrorCode == jsMessageTooLarge:
		return tooLarge
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders), errors.As(err, &api) && api.ErrorCode == jsWrongStream:
		return noStream
	default:
		return failed
	}
}

// Error codes of JetStream that the client library has no names for (nats-server, server/errors.json).
const (
	jsMessageTooLarge = 10054 // JSStreamMessageExceedsMaximumErr
	jsWrongStream     = 10060 // JSStreamNotMatchErr
)
