package groundtruth

import (
	"os"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// DUMP="mutation|group/scenario" DUMPDIR=dir
func TestZDump(t *testing.T) {
	want := os.Getenv("DUMP")
	if want == "" {
		t.Skip()
	}
	name, run, _ := strings.Cut(want, "|")
	runs, _ := Corpus("../../../testdata/corpus")
	all := append(Pairs(), Mutations...)
	for _, m := range all {
		if m.Name != name {
			continue
		}
		for _, r := range runs {
			if r.Group+"/"+r.Scenario != run {
				continue
			}
			x, _, err := m.Apply(r)
			if err != nil {
				t.Fatal(err)
			}
			a, _ := (&ptrace.JSONMarshaler{}).MarshalTraces(x.recording.traces)
			b, _ := (&plog.JSONMarshaler{}).MarshalLogs(x.recording.logs)
			dir := os.Getenv("DUMPDIR")
			os.MkdirAll(dir, 0o755)
			os.WriteFile(dir+"/x.otlp.json", a, 0o644)
			if x.recording.logs.LogRecordCount() > 0 {
				os.WriteFile(dir+"/x.logs.json", b, 0o644)
			} else {
				os.Remove(dir + "/x.logs.json")
			}
		}
	}
}
