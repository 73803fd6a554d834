// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const deploy = "../../../deploy"

// overlays are what is applied, and the workloads in each.
var overlays = map[string][]string{
	"single":  {"StatefulSet/tapedeck-collector"},
	"gateway": {"Deployment/tapedeck-gateway", "StatefulSet/tapedeck-collector"},
	"agent":   {"DaemonSet/tapedeck-agent", "Deployment/tapedeck-gateway", "StatefulSet/tapedeck-collector"},
}

func build(t *testing.T, fs filesys.FileSystem, dir string) []byte {
	t.Helper()
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := all.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOverlaysAreWhatAClusterTakes(t *testing.T) {
	for name, workloads := range overlays {
		t.Run(name, func(t *testing.T) {
			text := build(t, filesys.MakeFsOnDisk(), filepath.Join(deploy, "kubernetes", "overlays", name))
			c, problems := check(string(text))
			for _, p := range problems {
				t.Error(p)
			}
			if got := slices.Sorted(maps.Keys(c.workloads)); !slices.Equal(got, workloads) {
				t.Errorf("the workloads are %v", got)
			}
		})
	}
}

// The checks find what they are there for.
func TestMistakesInManifestsAreFound(t *testing.T) {
	whole := string(build(t, filesys.MakeFsOnDisk(), filepath.Join(deploy, "kubernetes", "overlays", "agent")))
	for want, edit := range map[string][2]string{
		"unknown field":                     {"podManagementPolicy: Parallel", "podManagementPolicie: Parallel"},
		"cannot unmarshal":                  {"terminationGracePeriodSeconds: 60", "terminationGracePeriodSeconds: soon"},
		"no type for":                       {"kind: PodDisruptionBudget", "kind: PodDisruptionBudgets"},
		"allowPrivilegeEscalation != false": {"allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true"},
		"runAsNonRoot != true":              {"runAsNonRoot: true", "runAsNonRoot: false"},
		"unrestricted capabilities":         {"- ALL", "- NET_RAW"},
		"seccompProfile":                    {"type: RuntimeDefault", "type: Unconfined"},
		"root file system can be written":   {"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false"},
		"mounts a token":                    {"      automountServiceAccountToken: false\n", ""},
		"no port of that name":              {"targetPort: otlp-http", "targetPort: otlp-htpp"},
		"selects no pod":                    {"  selector:\n    app.kubernetes.io/name: tapedeck-agent\n", "  selector:\n    app.kubernetes.io/name: tapedeck-agnet\n"},
		"no ConfigMap":                      {"name: tapedeck-agent-", "name: tapedeck-agents-"},
		"lies on no volume":                 {"mountPath: /var/lib/otelcol\n", "mountPath: /var/lib/otel\n"},
		"has no NetworkPolicy":              {"  podSelector:\n    matchLabels:\n      app.kubernetes.io/name: tapedeck-collector\n  policyTypes", "  podSelector:\n    matchLabels:\n      app.kubernetes.io/name: x\n  policyTypes"},
		"no limit of memory":                {"limits:\n            memory: 2Gi", "limits: {}"},
	} {
		at := strings.Index(whole, edit[0])
		if at < 0 {
			t.Errorf("%s: %q does not occur", want, edit[0])
			continue
		}
		// The first one is enough, but for the name of a ConfigMap, which is the object's and then its users'.
		_, problems := check(whole[:at] + edit[1] + whole[at+len(edit[0]):])
		if !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("%q → %q is not found as %q: %q", edit[0], edit[1], want, problems)
		}
	}
}

// cluster is what is applied together.
type cluster struct {
	workloads  map[string]*workload
	configs    map[string]bool
	services   []*corev1.Service
	networks   []*networkingv1.NetworkPolicy
	disruption []*policyv1.PodDisruptionBudget
}

type workload struct {
	meta     metav1.ObjectMeta
	pod      corev1.PodTemplateSpec
	selector *metav1.LabelSelector
	claims   []corev1.PersistentVolumeClaim
}

// check decodes manifests strictly, by the types that the API server publishes its schemas from, and looks at what no schema says: whether they fit each
// other, and whether the restricted profile of Pod Security admits the pods, by the code of its admission controller.
func check(text string) (c cluster, problems []string) {
	c = cluster{workloads: map[string]*workload{}, configs: map[string]bool{}}
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, doc := range strings.Split(text, "\n---\n") {
		var of metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &of); err != nil {
			bad("%v", err)
			continue
		}
		var into any
		var after func()
		switch of.APIVersion + "/" + of.Kind {
		case "v1/Namespace":
			into = &corev1.Namespace{}
		case "v1/ServiceAccount":
			into = &corev1.ServiceAccount{}
		case "v1/ConfigMap":
			m := &corev1.ConfigMap{}
			into, after = m, func() { c.configs[m.Name] = true }
		case "v1/Service":
			s := &corev1.Service{}
			into, after = s, func() { c.services = append(c.services, s) }
		case "networking.k8s.io/v1/NetworkPolicy":
			n := &networkingv1.NetworkPolicy{}
			into, after = n, func() { c.networks = append(c.networks, n) }
		case "policy/v1/PodDisruptionBudget":
			p := &policyv1.PodDisruptionBudget{}
			into, after = p, func() { c.disruption = append(c.disruption, p) }
		case "apps/v1/StatefulSet":
			s := &appsv1.StatefulSet{}
			into, after = s, func() {
				c.workloads["StatefulSet/"+s.Name] = &workload{s.ObjectMeta, s.Spec.Template, s.Spec.Selector, s.Spec.VolumeClaimTemplates}
			}
		case "apps/v1/Deployment":
			d := &appsv1.Deployment{}
			into, after = d, func() {
				c.workloads["Deployment/"+d.Name] = &workload{meta: d.ObjectMeta, pod: d.Spec.Template, selector: d.Spec.Selector}
			}
		case "apps/v1/DaemonSet":
			d := &appsv1.DaemonSet{}
			into, after = d, func() {
				c.workloads["DaemonSet/"+d.Name] = &workload{meta: d.ObjectMeta, pod: d.Spec.Template, selector: d.Spec.Selector}
			}
		default:
			bad("no type for %s/%s", of.APIVersion, of.Kind)
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(doc), into); err != nil {
			bad("%s: %v", of.Kind, err)
			continue
		}
		if after != nil {
			after()
		}
	}
	admission, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		bad("%v", err)
		return c, problems
	}
	for name, w := range c.workloads {
		problems = append(problems, w.check(name, c, admission)...)
	}
	for _, s := range c.services {
		problems = append(problems, c.reaches("Service/"+s.Name, labels.SelectorFromSet(s.Spec.Selector), func(w *workload) (missing string) {
			for _, p := range s.Spec.Ports {
				if !hasPort(w, p.TargetPort) {
					return "no port of that name: " + p.TargetPort.String()
				}
			}
			return ""
		})...)
	}
	for _, n := range c.networks {
		s, err := metav1.LabelSelectorAsSelector(&n.Spec.PodSelector)
		if err != nil {
			bad("%v", err)
			continue
		}
		problems = append(problems, c.reaches("NetworkPolicy/"+n.Name, s, func(w *workload) string {
			for _, in := range n.Spec.Ingress {
				for _, p := range in.Ports {
					if p.Port != nil && !hasPort(w, *p.Port) {
						return "no port of that name: " + p.Port.String()
					}
				}
			}
			if len(n.Spec.PolicyTypes) != 2 {
				return "does not close both directions"
			}
			return ""
		})...)
	}
	for _, p := range c.disruption {
		s, err := metav1.LabelSelectorAsSelector(p.Spec.Selector)
		if err != nil {
			bad("%v", err)
			continue
		}
		problems = append(problems, c.reaches("PodDisruptionBudget/"+p.Name, s, func(*workload) string { return "" })...)
	}
	slices.Sort(problems)
	return c, problems
}

func (c cluster) reaches(name string, s labels.Selector, look func(*workload) string) (problems []string) {
	n := 0
	for _, w := range c.workloads {
		if s.Empty() || !s.Matches(labels.Set(w.pod.Labels)) {
			continue
		}
		n++
		if p := look(w); p != "" {
			problems = append(problems, name+": "+p)
		}
	}
	if n == 0 {
		problems = append(problems, name+": selects no pod")
	}
	return problems
}

func hasPort(w *workload, port intstr.IntOrString) bool {
	for _, container := range w.pod.Spec.Containers {
		for _, p := range container.Ports {
			if p.Name == port.StrVal || port.StrVal == "" && p.ContainerPort == port.IntVal {
				return true
			}
		}
	}
	return false
}

func (w *workload) check(name string, c cluster, admission policy.Evaluator) (problems []string) {
	bad := func(format string, args ...any) {
		problems = append(problems, name+": "+fmt.Sprintf(format, args...))
	}
	spec := &w.pod.Spec
	for _, result := range admission.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &w.pod.ObjectMeta, spec) {
		if !result.Allowed {
			bad("the restricted profile refuses it: %s %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
	if s, err := metav1.LabelSelectorAsSelector(w.selector); err != nil || !s.Matches(labels.Set(w.pod.Labels)) {
		bad("does not select its own pods")
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		bad("mounts a token of the API server")
	}
	if !slices.ContainsFunc(c.networks, func(n *networkingv1.NetworkPolicy) bool {
		s, err := metav1.LabelSelectorAsSelector(&n.Spec.PodSelector)
		return err == nil && s.Matches(labels.Set(w.pod.Labels))
	}) {
		bad("has no NetworkPolicy")
	}
	for _, v := range spec.Volumes {
		if v.ConfigMap != nil && !c.configs[v.ConfigMap.Name] {
			bad("no ConfigMap %s", v.ConfigMap.Name)
		}
	}
	for _, container := range spec.Containers {
		if s := container.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
			bad("its root file system can be written")
		}
		if container.Resources.Limits.Memory().IsZero() {
			bad("no limit of memory")
		}
		if container.LivenessProbe == nil || container.ReadinessProbe == nil {
			bad("nobody looks whether it lives")
		}
		if image := container.Image; strings.HasSuffix(image, ":latest") || !strings.Contains(image, ":") && !strings.Contains(image, "@") {
			bad("the image %s is not pinned", image)
		}
		for _, e := range container.Env {
			if e.Name == "TAPEDECK_SPOOL" && !slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
				return strings.HasPrefix(e.Value, m.MountPath+"/") && !m.ReadOnly && slices.ContainsFunc(w.claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == m.Name })
			}) {
				bad("the spool %s lies on no volume that outlives the pod", e.Value)
			}
			if e.Value != "" && strings.Contains(e.Name, "KEY") {
				bad("a key stands in the manifest")
			}
		}
	}
	return problems
}

// The configurations are those of examples/, which tests start, but for addresses.
func TestConfigurationsAreThoseOfTheExamples(t *testing.T) {
	addresses := strings.NewReplacer("${env:HEALTH_ENDPOINT:-127.0.0.1:13133}", "0.0.0.0:13133", "${env:OTLP_GRPC_ENDPOINT:-127.0.0.1:4317}", "0.0.0.0:4317",
		"${env:OTLP_HTTP_ENDPOINT:-127.0.0.1:4318}", "0.0.0.0:4318", "host: 127.0.0.1", "host: 0.0.0.0", "port: ${env:METRICS_PORT:-8888}", "port: 8888")
	body := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(text), "extensions:\n")
		return body
	}
	if got, want := body(filepath.Join(deploy, "kubernetes/base/collector.yaml")), addresses.Replace(body("../../../examples/s3/collector.yaml")); got != want {
		t.Error("deploy/kubernetes/base/collector.yaml is not examples/s3/collector.yaml with the addresses of a pod")
	}
	cut := func(s string) string {
		before, after, ok := strings.Cut(s, "    resolver:\n")
		_, rest, ok2 := strings.Cut(after, "\nservice:")
		if !ok || !ok2 {
			t.Fatal("no resolver")
		}
		before, _, _ = strings.Cut(before, "\n      # The pods behind")
		return before + "\nservice:" + rest
	}
	if got, want := cut(body(filepath.Join(deploy, "kubernetes/overlays/gateway/gateway.yaml"))), cut(addresses.Replace(body("../../../examples/two-tier/gateway.yaml"))); got != want {
		t.Error("the gateway's configuration is not examples/two-tier/gateway.yaml with the addresses of a pod and another resolver")
	}
}
