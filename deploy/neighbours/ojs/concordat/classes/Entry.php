<?php

/**
 * Entry is the check of one submission, as it is kept with the submission: a value with steps that talk to a Client. It knows
 * nothing of OJS.
 *
 * state: waiting (to be sent), sent (its check runs), done, failed. partial: the check compared only a part.
 */

namespace APP\plugins\generic\concordat\classes;

class Entry
{
    /** Attempts in a row that fail before the entry does; the waits between them add up to about a day. */
    public const TRIES = 10;
    /** Seconds between two looks at a check that runs, and the longest wait after failures. */
    private const LOOK = 30;
    private const LONGEST = 21600;
    /** Seconds after which an entry whose next step was not taken has no job any more. */
    private const LOST = 3600;

    public function __construct(
        public int $file,
        public string $state = 'waiting',
        public string $check = '',
        public ?float $share = null,
        public string $cause = '',
        public int $tries = 0,
        public int $due = 0,
        public string $key = '',
        public bool $partial = false
    ) {
        if ($this->key === '') {
            $this->key = bin2hex(random_bytes(16));
        }
    }

    public static function decode(?string $text): ?self
    {
        $v = $text ? json_decode($text, true, 8) : null;
        if (!is_array($v) || !is_int($v['file'] ?? null) || !in_array($v['state'] ?? '', ['waiting', 'sent', 'done', 'failed'], true)) {
            return null;
        }
        return new self(
            $v['file'],
            $v['state'],
            (string) ($v['check'] ?? ''),
            isset($v['share']) ? (float) $v['share'] : null,
            (string) ($v['cause'] ?? ''),
            (int) ($v['tries'] ?? 0),
            (int) ($v['due'] ?? 0),
            (string) ($v['key'] ?? ''),
            (bool) ($v['partial'] ?? false)
        );
    }

    public function encode(): string
    {
        return json_encode(get_object_vars($this), JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
    }

    /** Reports whether something is still to be done. */
    public function open(): bool
    {
        return $this->state === 'waiting' || $this->state === 'sent';
    }

    /** Reports whether nobody takes its next step, such as after the queue of OJS was emptied. */
    public function lost(int $now): bool
    {
        return $this->open() && $this->due + self::LOST < $now;
    }

    /**
     * Takes the next step if it is due. $open returns the path, name and title of the file.
     */
    public function step(Client $client, callable $open, int $now): void
    {
        if (!$this->open() || $this->due > $now) {
            return;
        }
        try {
            if ($this->state === 'waiting') {
                [$path, $name, $title] = $open();
                $this->check = $client->send($path, $name, $title, $this->key);
                $this->state = 'sent';
            } else {
                $c = $client->check($this->check);
                if ($c['state'] === 'done' || $c['state'] === 'partial') {
                    $this->partial = $c['state'] === 'partial';
                    $this->state = 'done';
                    $this->share = $c['share'];
                } elseif ($c['state'] === 'failed') {
                    $this->state = 'failed';
                }
                $this->cause = $c['cause'];
            }
            $this->tries = 0;
            $this->due = $now + self::LOOK;
        } catch (Failure $f) {
            $this->tries++;
            $this->cause = $f->getMessage();
            if (!$f->passing || $this->tries >= self::TRIES) {
                $this->state = 'failed';
            }
            $this->due = $now + max(min(30 * 3 ** ($this->tries - 1), self::LONGEST), min($f->after, self::LONGEST));
        }
    }
}
