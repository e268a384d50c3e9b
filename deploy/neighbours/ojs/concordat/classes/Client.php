<?php

/**
 * Client speaks to one Concordat site. It knows nothing of OJS. Its token needs the scopes check and read.
 */

namespace APP\plugins\generic\concordat\classes;

class Client
{
    /** Seconds of one request: a file is sent in it, a check is not awaited. */
    private const TIME = 120;
    /** Bytes of an answer that are read. */
    private const MOST = 4194304;

    public function __construct(private string $url, private string $token)
    {
        $this->url = rtrim($url, '/');
    }

    /**
     * Sends a file, and returns the id of its check. The same key gives the same check within a day, so that a request whose answer
     * was lost can be repeated.
     */
    public function send(string $path, string $name, string $title, string $key): string
    {
        $form = ['file' => new \CURLFile($path, 'application/octet-stream', $name)];
        if ($title !== '') {
            $form['title'] = $title;
        }
        $answer = $this->call('POST', '/checks', $form, ['Idempotency-Key: ' . $key]);
        $id = $answer['checks'][0]['id'] ?? null;
        if (!is_string($id) || $id === '') {
            throw new Failure('the site answered without a check', false);
        }
        return $id;
    }

    /**
     * Returns a check: its state (queued, running, done, partial, failed), its share (null: nothing was measured) and the cause of a
     * failure.
     */
    public function check(string $id): array
    {
        $c = $this->call('GET', '/checks/' . rawurlencode($id));
        $share = $c['coverage'] ?? null;
        return [
            'state' => (string) ($c['state'] ?? ''),
            'share' => is_int($share) || is_float($share) ? (float) $share : null,
            'cause' => (string) ($c['cause'] ?? ''),
        ];
    }

    /** Returns the address of a check for people. */
    public function link(string $id): string
    {
        return $this->url . '/checks/' . rawurlencode($id);
    }

    private function call(string $method, string $path, ?array $form = null, array $headers = []): array
    {
        $body = '';
        $after = 0;
        $c = curl_init($this->url . '/api/v1' . $path);
        curl_setopt_array($c, [
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => array_merge(['Authorization: Bearer ' . $this->token, 'Accept: application/json'], $headers),
            CURLOPT_TIMEOUT => self::TIME,
            CURLOPT_FOLLOWLOCATION => false, // the token stays here
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_WRITEFUNCTION => function ($c, $part) use (&$body) {
                $body .= $part;
                return strlen($body) > self::MOST ? 0 : strlen($part);
            },
            CURLOPT_HEADERFUNCTION => function ($c, $line) use (&$after) {
                if (preg_match('/^retry-after:\s*(\d{1,5})\s*$/i', $line, $m)) {
                    $after = (int) $m[1];
                }
                return strlen($line);
            },
        ]);
        if ($form !== null) {
            curl_setopt($c, CURLOPT_POSTFIELDS, $form);
        }
        $ok = curl_exec($c);
        $status = (int) curl_getinfo($c, CURLINFO_RESPONSE_CODE);
        $error = curl_error($c);
        curl_close($c);
        if (!$ok) {
            throw new Failure('no answer: ' . $error, true);
        }
        $answer = json_decode($body, true, 64);
        if ($status < 200 || $status > 299) {
            $words = is_array($answer) ? (string) ($answer['detail'] ?? $answer['title'] ?? '') : '';
            throw new Failure(trim("the site answered $status $words"), $status >= 500 || $status === 429 || $status === 408, $after);
        }
        if (!is_array($answer)) {
            throw new Failure('the site did not answer in JSON', false);
        }
        return $answer;
    }
}
