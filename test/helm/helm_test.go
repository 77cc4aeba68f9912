// Package helm_test checks the chart in deploy/helm with Helm itself, and each object
// that it renders with the types of Kubernetes and of the Prometheus operator. It is a
// module of its own, because these have many dependencies.
package helm_test

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

const chartDir = "../../deploy/helm"

// files lists what each file of values renders, in the order in which Helm installs it.
var files = map[string]string{
	"default": "NetworkPolicy/s-nats NetworkPolicy/s-streamer PodDisruptionBudget/s-nats PodDisruptionBudget/s-streamer-gateway PodDisruptionBudget/s-streamer-worker " +
		"ConfigMap/s-nats ConfigMap/s-streamer Service/s-nats Service/s-streamer Deployment/s-streamer-gateway Deployment/s-streamer-worker StatefulSet/s-nats",
	"small": "NetworkPolicy/s-nats PodDisruptionBudget/s-nats PodDisruptionBudget/s-streamer-gateway " +
		"ConfigMap/s-nats ConfigMap/s-streamer Service/s-nats Service/s-streamer Deployment/s-streamer-gateway StatefulSet/s-nats",
	"external": "NetworkPolicy/s-streamer PodDisruptionBudget/s-streamer-gateway PodDisruptionBudget/s-streamer-worker " +
		"ConfigMap/s-streamer Service/s-streamer Deployment/s-streamer-gateway Deployment/s-streamer-worker",
	"scaled": "NetworkPolicy/s-nats NetworkPolicy/s-streamer PodDisruptionBudget/s-nats PodDisruptionBudget/s-streamer-gateway PodDisruptionBudget/s-streamer-worker " +
		"ConfigMap/s-nats ConfigMap/s-streamer Service/s-nats Service/s-streamer Deployment/s-streamer-gateway Deployment/s-streamer-worker " +
		"HorizontalPodAutoscaler/s-streamer-gateway HorizontalPodAutoscaler/s-streamer-worker StatefulSet/s-nats Ingress/s-streamer",
	"monitored": "NetworkPolicy/s-streamer PodDisruptionBudget/s-streamer-gateway PodDisruptionBudget/s-streamer-worker " +
		"ConfigMap/s-streamer Service/s-streamer-metrics Service/s-streamer Deployment/s-streamer-gateway Deployment/s-streamer-worker " +
		"PrometheusRule/s-streamer ServiceMonitor/s-streamer",
}

// TestMain silences the notes of Helm about symbolic links, which are meant.
func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelWarn)
	m.Run()
}

// TestChart checks the chart with each file of values.
func TestChart(t *testing.T) {
	found, err := filepath.Glob(chartDir + "/ci/*-values.yaml")
	if err != nil || len(found) != len(files) {
		t.Fatalf("there are the files %v, error %v; the test knows %v", found, err, slices.Collect(maps.Keys(files)))
	}
	streamer := filepath.Join(t.TempDir(), "streamer")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", streamer, "./cmd/streamer")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range files {
		t.Run(name, func(t *testing.T) {
			values := read(t, name)
			lint := action.NewLint()
			lint.Strict = true
			for _, err := range lint.Run([]string{chartDir}, values).Errors {
				t.Errorf("lint: %v", err)
			}
			r := render(t, values)
			if got := strings.Join(r.names, " "); got != want {
				t.Errorf("rendered\n%s, want\n%s", got, want)
			}
			r.checkSelectors(t)
			for _, p := range r.pods {
				p.check(t, r)
				if p.streamer() {
					p.run(t, streamer, r.configs["s-streamer"])
				}
			}
		})
	}
}

// TestRefused: values that cannot work are refused with a text that names them.
func TestRefused(t *testing.T) {
	for set, want := range map[string]string{
		`{}`:                                     "image: need the image of a release",
		`{image: i, gateway: {replica: 3}}`:      "replica",
		`{image: i, gateways: {replicas: 3}}`:    "gateways",
		`{image: i, nats: {replicas: 2}}`:        "replicas",
		`{image: i, nats: {enabled: false}}`:     "externalNats.url: need the URLs",
		`{image: i, ingress: {enabled: true}}`:   "ingress.host: need the name",
		`{image: i, token: {secret: ""}}`:        "secret",
		`{image: i, gateway: {replicas: "two"}}`: "replicas",
	} {
		t.Run(set, func(t *testing.T) {
			values, err := common.ReadValues([]byte(set))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := install(t, values); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want one with %q", err, want)
			}
		})
	}
}

func read(t *testing.T, name string) map[string]any {
	t.Helper()
	values, err := common.ReadValuesFile(fmt.Sprintf("%s/ci/%s-values.yaml", chartDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// install renders the chart as `helm template s deploy/helm` does.
func install(t *testing.T, values map[string]any) (string, error) {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	i := action.NewInstall(new(action.Configuration))
	i.DryRunStrategy, i.ReleaseName, i.Namespace = action.DryRunClient, "s", "agents"
	i.KubeVersion = &common.KubeVersion{Version: "v1.30.0", Major: "1", Minor: "30"}
	done, err := i.RunWithContext(t.Context(), c, values)
	if err != nil {
		return "", err
	}
	return done.(*release.Release).Manifest, nil
}

// rendered are the objects of a release.
type rendered struct {
	names     []string                     // Kind/name
	pods      []pod                        //
	configs   map[string]map[string]string // the data of each ConfigMap
	selectors map[string]labels.Selector   // by what selects pods
	services  []core.Service
	monitors  []monitoring.ServiceMonitor
}

// render renders the chart and decodes each object. A field that its type lacks is an
// error.
func render(t *testing.T, values map[string]any) *rendered {
	t.Helper()
	manifest, err := install(t, values)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apps.AddToScheme, autoscaling.AddToScheme, core.AddToScheme, networking.AddToScheme, policy.AddToScheme, monitoring.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	r := &rendered{configs: map[string]map[string]string{}, selectors: map[string]labels.Selector{}}
	for _, text := range strings.Split(manifest, "\n---\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		o, kind, err := decoder.Decode([]byte(text), nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		name := kind.Kind + "/" + o.(meta.Object).GetName()
		r.names = append(r.names, name)
		r.add(t, name, o)
	}
	return r
}

// add records what an object selects and runs.
func (r *rendered) add(t *testing.T, name string, object any) {
	selects := func(s *meta.LabelSelector) {
		selector, err := meta.LabelSelectorAsSelector(s)
		if err != nil || selector.Empty() {
			t.Errorf("%s: selector %v, error %v", name, s, err)
		}
		r.selectors[name] = selector
	}
	switch o := object.(type) {
	case *core.ConfigMap:
		r.configs[o.Name] = o.Data
	case *core.Service:
		selects(&meta.LabelSelector{MatchLabels: o.Spec.Selector})
		r.services = append(r.services, *o)
	case *policy.PodDisruptionBudget:
		selects(o.Spec.Selector)
	case *networking.NetworkPolicy:
		selects(&o.Spec.PodSelector)
		for _, rule := range o.Spec.Egress {
			for _, to := range rule.To {
				if s, err := meta.LabelSelectorAsSelector(to.PodSelector); err != nil {
					t.Error(err)
				} else {
					r.selectors[name+" to"] = s
				}
			}
		}
	case *apps.Deployment:
		selects(o.Spec.Selector)
		r.pods = append(r.pods, pod{name, o.Spec.Template})
	case *apps.StatefulSet:
		selects(o.Spec.Selector)
		r.pods = append(r.pods, pod{name, o.Spec.Template})
	case *autoscaling.HorizontalPodAutoscaler:
		if target := o.Spec.ScaleTargetRef; !slices.Contains(r.names, target.Kind+"/"+target.Name) {
			t.Errorf("%s scales %s, which does not exist", name, target.Name)
		}
	case *monitoring.ServiceMonitor:
		r.monitors = append(r.monitors, *o)
	}
}

// checkSelectors checks that each selector selects a pod, and each port of a Service or a
// ServiceMonitor exists.
func (r *rendered) checkSelectors(t *testing.T) {
	t.Helper()
	for name, s := range r.selectors {
		if !slices.ContainsFunc(r.pods, func(p pod) bool { return s.Matches(labels.Set(p.template.Labels)) }) {
			t.Errorf("%s: %s selects no pod", name, s)
		}
	}
	for _, s := range r.services {
		for _, p := range r.pods {
			if !r.selectors["Service/"+s.Name].Matches(labels.Set(p.template.Labels)) {
				continue
			}
			for _, port := range s.Spec.Ports {
				if !slices.ContainsFunc(p.container().Ports, func(have core.ContainerPort) bool { return have.Name == port.TargetPort.StrVal }) {
					t.Errorf("Service/%s: %s has no port %s", s.Name, p.name, port.TargetPort.StrVal)
				}
			}
		}
	}
	for _, m := range r.monitors {
		selector, err := meta.LabelSelectorAsSelector(&m.Spec.Selector)
		found := slices.ContainsFunc(r.services, func(s core.Service) bool {
			return selector.Matches(labels.Set(s.Labels)) && s.Spec.Ports[0].Name == m.Spec.Endpoints[0].Port && s.Labels[m.Spec.JobLabel] == "streamer"
		})
		if err != nil || !found {
			t.Errorf("ServiceMonitor/%s: %v selects no Service of the job streamer, error %v", m.Name, m.Spec.Selector, err)
		}
	}
}

// pod is the template of the pods of an object.
type pod struct {
	name     string
	template core.PodTemplateSpec
}

func (p pod) container() *core.Container { return &p.template.Spec.Containers[0] }

func (p pod) streamer() bool { return p.container().Name == "streamer" }

// check checks that a pod has no rights, and that what it mounts exists. Secrets are only
// named.
func (p pod) check(t *testing.T, r *rendered) {
	t.Helper()
	c, spec := p.container(), p.template.Spec
	if s := c.SecurityContext; !*spec.SecurityContext.RunAsNonRoot || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Capabilities.Drop[0] != "ALL" || *spec.AutomountServiceAccountToken {
		t.Errorf("%s has rights: %v %v", p.name, spec.SecurityContext, s)
	}
	if c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("%s: resources %v", p.name, c.Resources)
	}
	mounted := map[string]bool{}
	for _, m := range c.VolumeMounts {
		mounted[m.Name] = true
	}
	for _, v := range spec.Volumes {
		if !mounted[v.Name] {
			t.Errorf("%s: volume %s is not mounted", p.name, v.Name)
		}
		if v.ConfigMap != nil && r.configs[v.ConfigMap.Name] == nil {
			t.Errorf("%s: there is no ConfigMap %s", p.name, v.ConfigMap.Name)
		}
		delete(mounted, v.Name)
	}
	if delete(mounted, "data"); len(mounted) > 0 { // a volumeClaimTemplate
		t.Errorf("%s: mounts %v are no volumes", p.name, mounted)
	}
}

// run runs `streamer config` with the variables and the file of a pod. The program
// refuses a flag or a value that it does not know.
func (p pod) run(t *testing.T, streamer string, config map[string]string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "streamer.yaml")
	if err := os.WriteFile(file, []byte(config["streamer.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), streamer, "config", "--config", file)
	for _, e := range p.container().Env {
		if e.ValueFrom == nil { // others are parts of variables
			cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "belongs to no flag") {
		t.Errorf("%s: streamer config: %v\n%s", p.name, err, out)
	}
	for _, e := range p.container().Env {
		if e.ValueFrom == nil && !strings.Contains(string(out), e.Name) {
			t.Errorf("%s: streamer does not use %s:\n%s", p.name, e.Name, out)
		}
	}
}

// TestFiles: the chart has the files of deploy/nats and deploy/prometheus, to which its
// symbolic links lead.
func TestFiles(t *testing.T) {
	r := render(t, read(t, "default"))
	for _, name := range []string{"cluster.conf", "accounts.conf", "exports.conf", "imports.conf"} {
		want, err := os.ReadFile("../../deploy/nats/" + name)
		if got := r.configs["s-nats"][name]; err != nil || got != string(want) {
			t.Errorf("%s differs from deploy/nats, or error %v:\n%s", name, err, got)
		}
	}
}
