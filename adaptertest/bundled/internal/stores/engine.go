package stores

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tcexec "github.com/testcontainers/testcontainers-go/exec"
	"github.com/testcontainers/testcontainers-go/log"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
	"github.com/testcontainers/testcontainers-go/wait"
)

// engine is the Docker engine, with the containers and the network that this run has started on it.
type engine struct {
	mu         sync.Mutex
	docker     client.APIClient
	containers []testcontainers.Container
	network    *testcontainers.DockerNetwork
}

// labelOwner is the label of every container and network of a run. Its value names the process that must remove them.
const labelOwner = "gatehouse.owner"

// ErrNoEngine is matched by the error on a machine without Docker. Its text says what to do on such a machine.
var ErrNoEngine = errors.New("stores: no Docker engine answers: install and start Docker (on Debian, as root: " +
	".ci/setup-engine), or set " + EnvPostgres + ", " + EnvMariaDB + ", " + EnvRedis + " and " + EnvMongo + " to servers that run already")

// The longest waits for the engine, which may lose a container and then never answers.
const (
	startWithin  = 10 * time.Minute // with the time for an image from a registry
	removeWithin = time.Minute
)

// connect returns the client of the engine. The first call decides how this process uses testcontainers.
func (e *engine) connect(ctx context.Context) (client.APIClient, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.docker != nil {
		return e.docker, nil
	}
	docker, err := client.New(client.FromEnv)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNoEngine, err)
	}
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	if _, err := docker.Ping(ctx, client.PingOptions{}); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNoEngine, err)
	}
	if os.Getenv("TESTCONTAINERS_RYUK_DISABLED") == "" && !obtainable(ctx, docker, imageReaper) {
		if err := os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true"); err != nil {
			return nil, fmt.Errorf("stores: %w", err)
		}
	}
	log.SetDefault(log.NewNoopLogger())
	removeAbandoned(ctx, docker)
	e.docker = docker
	return docker, nil
}

// runningContainer is a container of this run.
type runningContainer struct {
	testcontainers.Container
	docker client.APIClient
}

// run starts a container by one of testcontainers' Run functions. It publishes each of ports on a host port of loopback,
// which stays the same when the container is killed and started again. It returns the host ports in the same order. If
// same is true, each port inside the container has the number of its host port, and only the count of ports matters.
func (e *engine) run(ctx context.Context, what string, ports []int, same bool,
	start func(publish []testcontainers.ContainerCustomizer, hostPorts []int) (testcontainers.Container, error),
) (*runningContainer, []int, error) {
	docker, err := e.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	const attempts = 5 // another process may have taken a port that was free a moment ago
	for attempt := 1; ; attempt++ {
		hostPorts, err := freePorts(len(ports))
		if err != nil {
			return nil, nil, err
		}
		inside := ports
		if same {
			inside = hostPorts
		}
		c, err := start(publish(inside, hostPorts), hostPorts)
		if err == nil {
			e.mu.Lock()
			e.containers = append(e.containers, c)
			e.mu.Unlock()
			return &runningContainer{Container: c, docker: docker}, hostPorts, nil
		}
		err = fmt.Errorf("stores: %s: %w", what, err)
		if made, ok := c.(*testcontainers.DockerContainer); !ok || made != nil { // nil if the engine has not made it
			removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
			err = fmt.Errorf("%w%s", err, lastWords(removing, c))
			err = errors.Join(err, c.Terminate(removing, testcontainers.StopTimeout(0)))
			cancel()
		}
		taken := strings.Contains(err.Error(), "already allocated") || strings.Contains(err.Error(), "already in use")
		if !taken || attempt == attempts {
			return nil, nil, err
		}
	}
}

// A memberSpec is what a member of a group runs.
type memberSpec struct {
	image   string
	options []testcontainers.ContainerCustomizer
}

// runGroup starts servers that reach each other at the same loopback addresses at which clients reach them. Each server
// is in its own container, which can be killed alone. All are in the network of one more container, which only holds
// their ports. spec returns what member i runs; it gets the ports of all members.
func (e *engine) runGroup(ctx context.Context, what, image string, members int, spec func(i int, ports []int) memberSpec,
) ([]*Member, error) {
	holder, ports, err := e.run(ctx, what, make([]int, members), true,
		func(publish []testcontainers.ContainerCustomizer, _ []int) (testcontainers.Container, error) {
			return testcontainers.Run(ctx, image, append(publish,
				testcontainers.WithEntrypoint("sleep"), testcontainers.WithCmd("infinity"))...)
		})
	if err != nil {
		return nil, err
	}
	started := make([]*Member, members)
	errs := make([]error, members)
	var wg sync.WaitGroup
	for i := range started {
		wg.Go(func() {
			m := spec(i, ports)
			c, _, err := e.run(ctx, what, nil, false,
				func(common []testcontainers.ContainerCustomizer, _ []int) (testcontainers.Container, error) {
					inside := testcontainers.WithHostConfigModifier(func(hc *container.HostConfig) {
						hc.NetworkMode = container.NetworkMode("container:" + holder.GetContainerID())
					})
					return testcontainers.Run(ctx, m.image, append(append(common, m.options...), inside)...)
				})
			started[i], errs[i] = &Member{Addr: loopback(ports[i]), container: c}, err
		})
	}
	wg.Wait()
	return started, errors.Join(errs...)
}

// loopback is the address of a port on this machine.
func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// publish returns the options of every container: ports on loopback, the label of the owner, and no wait.
func publish(inside, host []int) []testcontainers.ContainerCustomizer {
	exposed := make([]string, len(inside))
	bindings := network.PortMap{}
	for i, port := range inside {
		exposed[i] = strconv.Itoa(port) + "/tcp"
		bindings[network.MustParsePort(exposed[i])] = []network.PortBinding{
			{HostIP: netip.AddrFrom4([4]byte{127, 0, 0, 1}), HostPort: strconv.Itoa(host[i])},
		}
	}
	return []testcontainers.ContainerCustomizer{
		testcontainers.WithExposedPorts(exposed...),
		testcontainers.WithHostConfigModifier(func(hc *container.HostConfig) { hc.PortBindings = bindings }),
		testcontainers.WithLabels(map[string]string{labelOwner: owner()}),
		// testcontainers would wait at an address that it takes for the address of the engine. Store.Await asks the server itself.
		testcontainers.WithWaitStrategy(wait.ForNop(func(context.Context, wait.StrategyTarget) error { return nil })),
	}
}

// freePorts returns n ports on which nobody listens. They are below the range of ports that the kernel gives to outgoing
// connections, so they stay free while a container is killed.
func freePorts(n int) ([]int, error) {
	const low, high = 20000, 30000
	ports := make([]int, 0, n)
	for range 1000 {
		if len(ports) == n {
			return ports, nil
		}
		port := low + rand.IntN(high-low)
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }() // kept open until all are chosen, so that they differ
		ports = append(ports, port)
	}
	return nil, fmt.Errorf("stores: fewer than %d ports are free between %d and %d", n, low, high)
}

// join returns the network of this run, made at the first call, in which containers find each other by name.
func (e *engine) join(ctx context.Context) (*testcontainers.DockerNetwork, error) {
	if _, err := e.connect(ctx); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.network != nil {
		return e.network, nil
	}
	n, err := tcnetwork.New(ctx, tcnetwork.WithLabels(map[string]string{labelOwner: owner()}))
	if err != nil {
		return nil, fmt.Errorf("stores: network: %w", err)
	}
	e.network = n
	return n, nil
}

// kill ends the main process of the container with SIGKILL and waits until the container has stopped.
func (c *runningContainer) kill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	wait := c.docker.ContainerWait(ctx, c.GetContainerID(), client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	if _, err := c.docker.ContainerKill(ctx, c.GetContainerID(), client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
		return fmt.Errorf("stores: kill: %w", err)
	}
	select {
	case <-wait.Result:
		return nil
	case err := <-wait.Error:
		return fmt.Errorf("stores: kill: %w", err)
	}
}

// run runs a command inside the container.
func (c *runningContainer) run(ctx context.Context, command ...string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	status, output, err := c.Exec(ctx, command, tcexec.Multiplexed())
	if err != nil {
		return fmt.Errorf("stores: %s: %w", command[0], err)
	}
	said, err := io.ReadAll(output)
	if status != 0 {
		return fmt.Errorf("stores: %s ended with status %d: %s", command[0], status, said)
	}
	return err
}

// ended returns an error if the container does not run.
func (c *runningContainer) ended(ctx context.Context) error {
	found, err := c.docker.ContainerInspect(ctx, c.GetContainerID(), client.ContainerInspectOptions{})
	if state := found.Container.State; err == nil && state != nil && !state.Running {
		return fmt.Errorf("the container ended with status %d", state.ExitCode)
	}
	return nil // it runs, or the engine does not say
}

// start starts the stopped container again. It calls the engine directly, because testcontainers would wait again as at
// the first start.
func (c *runningContainer) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if _, err := c.docker.ContainerStart(ctx, c.GetContainerID(), client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("stores: start: %w", err)
	}
	return nil
}

// close removes the containers and the network of this run.
func (e *engine) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	e.mu.Lock()
	defer e.mu.Unlock()
	errs := make([]error, len(e.containers))
	var wg sync.WaitGroup
	for i, c := range e.containers {
		wg.Go(func() { errs[i] = c.Terminate(ctx, testcontainers.StopTimeout(0)) })
	}
	wg.Wait()
	e.containers = nil
	if e.network != nil {
		errs = append(errs, e.network.Remove(ctx))
		e.network = nil
	}
	if e.docker != nil {
		errs = append(errs, e.docker.Close())
		e.docker = nil
	}
	return errors.Join(errs...)
}
