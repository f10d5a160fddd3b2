package stores

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// owner names this process by host, process id and start time. So a later process can find out whether this one still
// runs.
func owner() string {
	host, _ := os.Hostname()
	return strings.Join([]string{host, strconv.Itoa(os.Getpid()), startTime(os.Getpid())}, "/")
}

// startTime returns when the process started, in the kernel's ticks. It returns "" if there is no such process or no
// /proc. A process id alone is not enough, because the kernel uses ids again.
func startTime(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name of the command, in brackets, may contain any character. The first field after it is number 3, and the start
	// time is number 22.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return ""
	}
	return fields[19]
}

// gone reports whether the process that owner named ran on this host and has ended.
func gone(label string) bool {
	parts := strings.Split(label, "/")
	host, _ := os.Hostname()
	if len(parts) != 3 || parts[0] != host || parts[2] == "" {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	return err == nil && startTime(pid) != parts[2]
}

// removeAbandoned removes the containers and networks of killed runs. It ignores errors.
func removeAbandoned(ctx context.Context, docker client.APIClient) {
	filter := client.Filters{}.Add("label", labelOwner)
	containers, err := docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		return
	}
	for _, c := range containers.Items {
		if gone(c.Labels[labelOwner]) {
			_, _ = docker.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		}
	}
	networks, err := docker.NetworkList(ctx, client.NetworkListOptions{Filters: filter})
	if err != nil {
		return
	}
	for _, n := range networks.Items {
		if gone(n.Labels[labelOwner]) {
			_, _ = docker.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{})
		}
	}
}

// lastWords returns the end of the log of a container that did not start, for the error.
func lastWords(ctx context.Context, c testcontainers.Container) string {
	ctx, cancel := context.WithTimeout(ctx, registryWithin)
	defer cancel()
	logs, err := c.Logs(ctx)
	if err != nil {
		return ""
	}
	defer logs.Close()
	text, _ := io.ReadAll(io.LimitReader(logs, 64<<10))
	if len(text) > 2<<10 {
		text = text[len(text)-2<<10:]
	}
	if len(text) == 0 {
		return ""
	}
	return "\nits log ends:\n" + string(text)
}
