// Records what controller-runtime exports: runs one of its controllers through each way that a
// pass can end, and prints the metrics that came of it. To record anew, in a copy of this folder:
//
//	go mod init record && go get sigs.k8s.io/controller-runtime@latest && go mod tidy
//	go run . > controller-runtime.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type family struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// The upper bounds, as texts, which every reader takes to the last bit.
	Buckets []string `json:"buckets,omitempty"`
	Series  []series `json:"series"`
}

type series struct {
	Labels map[string]string `json:"labels"`
	// The value, or how many were observed.
	Value float64 `json:"value"`
}

const module = "sigs.k8s.io/controller-runtime"

func main() {
	// An API server that has nothing, for the client and the leader election.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
	}))
	defer server.Close()
	runController()
	runLeaderElection(server.URL)

	gathered, err := metrics.Registry.Gather()
	must(err)
	var families []family
	for _, one := range gathered {
		// Of the process and of Go.
		if !strings.HasPrefix(one.GetName(), "go_") && !strings.HasPrefix(one.GetName(), "process_") {
			families = append(families, describe(one, server.Listener.Addr().String()))
		}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", " ")
	must(out.Encode(map[string]any{"source": module + " " + version(), "families": families}))
}

// Three objects, one worker, and eight passes: six that end in different ways, and two that
// succeed. All but the terminal error are followed by another pass over their object.
func runController() {
	passes := 0
	website, err := controller.NewUnmanaged("website", controller.Options{
		MaxConcurrentReconciles: 1,
		ReconciliationTimeout:   50 * time.Millisecond,
		Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			passes++
			switch passes {
			case 1:
				return reconcile.Result{}, errors.New("an error")
			case 2:
				return reconcile.Result{Requeue: true}, nil
			case 3:
				return reconcile.Result{RequeueAfter: time.Millisecond}, nil
			case 4:
				panic("a panic")
			case 5:
				<-ctx.Done()
				return reconcile.Result{}, ctx.Err()
			case 6:
				return reconcile.Result{}, reconcile.TerminalError(errors.New("a terminal error"))
			}
			return reconcile.Result{}, nil
		}),
	})
	must(err)
	must(website.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		for _, name := range []string{"a", "b", "c"} {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}})
		}
		return nil
	})))
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	must(website.Start(ctx))
}

func runLeaderElection(url string) {
	manager, err := ctrl.NewManager(&rest.Config{Host: url}, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "website", LeaderElectionNamespace: "default",
	})
	must(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	must(manager.Start(ctx))
}

func describe(one *dto.MetricFamily, host string) family {
	out := family{Name: one.GetName(), Type: one.GetType().String()}
	for _, metric := range one.Metric {
		labels := map[string]string{}
		for _, label := range metric.Label {
			labels[label.GetName()] = strings.ReplaceAll(label.GetValue(), host, "127.0.0.1:6443")
		}
		value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		out.Series = append(out.Series, series{labels, value})
	}
	for _, bucket := range one.Metric[0].GetHistogram().GetBucket() {
		out.Buckets = append(out.Buckets, strconv.FormatFloat(bucket.GetUpperBound(), 'g', -1, 64))
	}
	return out
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "of an unknown version"
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
