<?php

namespace APP\plugins\generic\concordat\classes;

/** Failure says why a request came to nothing, whether it is worth repeating, and after how many seconds the site asks for that. */
class Failure extends \Exception
{
    public function __construct(string $words, public readonly bool $passing, public readonly int $after = 0)
    {
        parent::__construct(substr($words, 0, 500));
    }
}
