<?php

/**
 * Small stand-ins for the classes of OJS 3.4 and 3.5 that the plugin uses, with what tests need to see. Written from the published
 * signatures; they prove that the plugin's own code works, not that OJS calls it.
 */

namespace {
    function __($key, $params = [])
    {
        return $key;
    }

    /** World is the state of the stand-ins. */
    class World
    {
        public static array $hooks = [];
        public static array $listeners = [];
        public static array $settings = [];
        public static array $submissions = [];
        public static array $files = [];
        public static array $genres = [];
        public static array $jobs = [];
        public static array $roles = [];
        public static ?object $plugin = null;
        public static ?object $user = null;
        public static string $dir = '';
        public static array $shown = [];
        public static array $menu = [];
    }

    class Data
    {
        public function __construct(public int $id, public array $data = [])
        {
        }
        public function getId()
        {
            return $this->id;
        }
        public function getData($key)
        {
            return $this->data[$key] ?? null;
        }
        public function getLocalizedData($key)
        {
            return $this->data[$key] ?? '';
        }
        public function getCurrentPublication()
        {
            return $this;
        }
        public function getLocalizedTitle()
        {
            return $this->data['title'] ?? '';
        }
        public function getCategory()
        {
            return $this->data['category'];
        }
        public function getSupplementary()
        {
            return $this->data['supplementary'] ?? false;
        }
        public function getDependent()
        {
            return $this->data['dependent'] ?? false;
        }
        public function hasRole($roles, $context)
        {
            return (bool) array_intersect($roles, World::$roles);
        }
        public function getPath()
        {
            return 'journal';
        }
    }

    /** Found is a collector: filters narrow it. */
    class Found
    {
        public function __construct(private array $all)
        {
        }
        private function where(callable $f): self
        {
            $this->all = array_values(array_filter($this->all, $f));
            return $this;
        }
        public function filterBySubmissionIds($ids)
        {
            return $this->where(fn ($x) => in_array($x->getData('submissionId'), $ids));
        }
        public function filterByFileStages($stages)
        {
            return $this->where(fn ($x) => in_array($x->getData('fileStage'), $stages));
        }
        public function filterByContextIds($ids)
        {
            return $this->where(fn ($x) => in_array($x->getData('contextId'), $ids));
        }
        public function filterByStatus($all)
        {
            return $this;
        }
        public function assignedTo($ids)
        {
            return $this->where(fn ($x) => in_array($x->getData('editor'), $ids));
        }
        public function getMany()
        {
            return $this->all;
        }
    }

    class Entities
    {
        public function __construct(private string $of)
        {
        }
        public function get(int $id)
        {
            return World::${$this->of}[$id] ?? null;
        }
        public function getById($id)
        {
            return $this->get((int) $id);
        }
        public function getCollector()
        {
            return new Found(array_values(World::${$this->of}));
        }
        public function edit($object, array $params)
        {
            World::${$this->of}[$object->getId()]->data = array_merge(World::${$this->of}[$object->getId()]->data, $params);
        }
    }

    class Request
    {
        public array $vars = [];
        public bool $post = true;
        public bool $csrf = true;
        public string $to = '';
        public function getUserVar($name)
        {
            return $this->vars[$name] ?? null;
        }
        public function getContext()
        {
            return new Data(1);
        }
        public function getUser()
        {
            return World::$user;
        }
        public function isPost()
        {
            return $this->post;
        }
        public function checkCSRF()
        {
            return $this->csrf;
        }
        public function redirect($context, $page)
        {
            $this->to = $page;
        }
        public function getDispatcher()
        {
            return $this;
        }
        public function getRouter()
        {
            return $this;
        }
        public function url(...$args)
        {
            return 'https://journal.example/concordat';
        }
        public function handle404()
        {
            $this->to = '404';
        }
        public function getRequestedPage()
        {
            return 'concordat';
        }
    }
}

namespace PKP\plugins {
    class Hook
    {
        public static function add($name, $f)
        {
            \World::$hooks[$name][] = $f;
        }
        public static function call($name, $args)
        {
            foreach (\World::$hooks[$name] ?? [] as $f) {
                if ($f($name, $args)) {
                    return true;
                }
            }
            return false;
        }
    }
    class PluginRegistry
    {
        public static function getPlugin($category, $name)
        {
            return $name === 'concordatplugin' ? \World::$plugin : null;
        }
    }
    class GenericPlugin
    {
        public function register($category, $path, $context = null)
        {
            return true;
        }
        public function getEnabled($context = null)
        {
            return true;
        }
        public function getName()
        {
            return 'concordatplugin';
        }
        public function getSetting($context, $name)
        {
            return \World::$settings[$context][$name] ?? null;
        }
        public function updateSetting($context, $name, $value, $type = null)
        {
            \World::$settings[$context][$name] = $value;
        }
        public function getTemplateResource($name)
        {
            return $name;
        }
        public function getActions($request, $verb)
        {
            return [];
        }
        public function manage($args, $request)
        {
            return null;
        }
    }
}

namespace Illuminate\Support\Facades {
    class Event
    {
        public static function listen($event, $f)
        {
            \World::$listeners[$event][] = $f;
        }
    }
}

namespace PKP\observers\events {
    class SubmissionSubmitted
    {
        public function __construct(public $context, public $submission)
        {
        }
    }
}

namespace PKP\jobs {
    class Pending
    {
        public function __construct(private int $at)
        {
        }
        public function delay($seconds)
        {
            \World::$jobs[$this->at][1] = $seconds;
        }
    }
    class BaseJob
    {
        public function __construct()
        {
        }
        public static function dispatch(...$args)
        {
            \World::$jobs[] = [new static(...$args), 0];
            return new Pending(count(\World::$jobs) - 1);
        }
    }
}

namespace PKP\db {
    class DAORegistry
    {
        public static function getDAO($name)
        {
            return new \Entities('genres');
        }
    }
}

namespace PKP\config {
    class Config
    {
        public static function getVar($section, $name, $default = null)
        {
            return \World::$dir;
        }
    }
}

namespace PKP\submissionFile {
    class SubmissionFile
    {
        public const SUBMISSION_FILE_SUBMISSION = 2;
    }
}

namespace PKP\security {
    class Role
    {
        public const ROLE_ID_SITE_ADMIN = 1;
        public const ROLE_ID_MANAGER = 16;
        public const ROLE_ID_SUB_EDITOR = 17;
        public const ROLE_ID_AUTHOR = 65536;
    }
    class Validation
    {
        public static function isSiteAdmin()
        {
            return false;
        }
    }
}

namespace PKP\security\authorization {
    class ContextAccessPolicy
    {
        public function __construct(public $request, public $roles)
        {
        }
    }
}

namespace PKP\core {
    class JSONMessage
    {
        public function __construct(public bool $status, public $content = null)
        {
        }
    }
}

namespace PKP\linkAction {
    class LinkAction
    {
        public function __construct(public $id, public $request, public $title)
        {
        }
    }
}

namespace PKP\linkAction\request {
    class AjaxModal
    {
        public function __construct(public $url, public $title)
        {
        }
    }
    class RedirectAction
    {
        public function __construct(public $url)
        {
        }
    }
}

namespace PKP\form {
    class Form
    {
        public array $_data = [];
        public array $checks = [];
        public function __construct(public $template)
        {
        }
        public function addCheck($check)
        {
            $this->checks[] = $check;
        }
        public function getData($name)
        {
            return $this->_data[$name] ?? null;
        }
        public function execute(...$args)
        {
        }
    }
}

namespace PKP\form\validation {
    class FormValidator
    {
        public function __construct(...$args)
        {
        }
    }
    class FormValidatorUrl extends FormValidator
    {
    }
    class FormValidatorPost extends FormValidator
    {
    }
    class FormValidatorCSRF extends FormValidator
    {
    }
}

namespace APP\core {
    class Application
    {
        public const ROUTE_PAGE = 'page';
        public static function get()
        {
            return new self();
        }
        public function getRequest()
        {
            return new \Request();
        }
    }
}

namespace APP\decision {
    class Decision
    {
        public const EXTERNAL_REVIEW = 3;
        public const SEND_TO_PRODUCTION = 7;
    }
}

namespace APP\facades {
    class Repo
    {
        public static function submission()
        {
            return new \Entities('submissions');
        }
        public static function submissionFile()
        {
            return new \Entities('files');
        }
    }
}

namespace APP\submission {
    class Submission
    {
        public const STATUS_QUEUED = 1;
        public const STATUS_SCHEDULED = 5;
    }
}

namespace APP\handler {
    class Handler
    {
        public array $allowed = [];
        public array $policies = [];
        public function __construct()
        {
        }
        public function addRoleAssignment($roles, $ops)
        {
            $this->allowed[] = [$roles, $ops];
        }
        public function addPolicy($policy)
        {
            $this->policies[] = $policy;
        }
        public function authorize($request, &$args, $roles)
        {
            return true;
        }
        public function setupTemplate($request)
        {
        }
    }
}

namespace APP\template {
    class TemplateManager
    {
        public static function getManager($request)
        {
            return new self();
        }
        public function assign($values)
        {
            \World::$shown = array_merge(\World::$shown, $values);
        }
        public function display($name)
        {
        }
        public function getState($name)
        {
            return \World::$menu;
        }
        public function setState($values)
        {
            \World::$menu = $values['menu'];
        }
    }
}
