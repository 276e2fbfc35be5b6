package main

import (
	"net/http"
	"strings"
	"sync"
)

// requestLog remembers which requests were sent, by which a check knows how client-go went about it.
type requestLog struct {
	mutex sync.Mutex
	lines []string
}

type loggingTransport struct {
	next http.RoundTripper
	log  *requestLog
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return &loggingTransport{next: next, log: l}
}

func (t *loggingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	t.log.mutex.Lock()
	t.log.lines = append(t.log.lines, request.Method+" "+request.URL.RequestURI())
	t.log.mutex.Unlock()
	return t.next.RoundTrip(request)
}

func (l *requestLog) reset() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.lines = nil
}

// count says how many requests had all of the parts.
func (l *requestLog) count(parts ...string) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	count := 0
	for _, line := range l.lines {
		matches := true
		for _, part := range parts {
			matches = matches && strings.Contains(line, part)
		}
		if matches {
			count++
		}
	}
	return count
}
