// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor // import "github.com/tapedeck/tapedeck/processor/agentrunprocessor"

import (
	"errors"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
)

func newTracesProcessor(processor.Settings, *Config, consumer.Traces) (processor.Traces, error) {
	return nil, errors.New("agentrun: grouping is not built in yet")
}
