// Package wire knows the form of what goes over the wire: cookies, CSRF values,
// queries, JSON bodies, URLs and origins, and random text. It takes values only
// and knows nothing of a configuration.
package wire
