// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
)

func TestHandoverAttributesDoNotChangeTheIDOfALogRecord(t *testing.T) {
	tagged := records(func(r plog.LogRecord) { r.Attributes().PutStr("tapedeck.run.key", "k") })
	tagged.ResourceLogs().At(0).Resource().Attributes().PutStr("tapedeck.run.items", "3")
	s := NewSet()
	s.AddLogs(records(nil))
	s.AddLogs(tagged)
	if s.Len() != 1 {
		t.Errorf("one record is %d items when its hand-over attributes differ", s.Len())
	}
}
