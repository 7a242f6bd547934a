/** Issues and pull requests. A pull request is an issue with commits. */
import { issueJson, pullJson } from '../json/thread-json.ts'
import type { Comment } from './comments.ts'
import { emitEvent } from './events.ts'
import { labelNamed, type Label } from './labels.ts'
import { defaultFiles, pullFileOf, type NewPullFile, type PullFile } from './pull-files.ts'
import { addCommitIfNew, type Repository } from './repositories.ts'
import type { Review } from './reviews.ts'
import { userNamed, type User } from './users.ts'
import type { World } from './world.ts'

export interface Pull {
  readonly id: number
  readonly headRef: string
  headSha: string
  baseRef: string
  baseSha: string
  draft: boolean
  mergedAt: number | null
  files: readonly PullFile[]
  readonly reviews: Review[]
}

export interface Thread {
  readonly id: number
  readonly repository: Repository
  readonly number: number
  /** Null for a plain issue. */
  readonly pull: Pull | null
  title: string
  body: string | null
  readonly author: User
  state: 'open' | 'closed'
  locked: boolean
  readonly labels: Label[]
  /** In order of their ids, deleted ones too. */
  readonly comments: Comment[]
  readonly createdAt: number
  updatedAt: number
  closedAt: number | null
  closedBy: User | null
}

export interface NewIssue {
  readonly number?: number
  readonly title?: string
  readonly body?: string | null
  readonly author?: string
  readonly labels?: readonly string[]
  /** Milliseconds by the simulator's clock. */
  readonly createdAt?: number
}

export interface NewPull extends NewIssue {
  readonly headSha: string
  readonly baseSha: string
  readonly headRef?: string
  readonly baseRef?: string
  readonly draft?: boolean
  /** What it changes. If absent, one new file with one line. */
  readonly files?: readonly NewPullFile[]
}

export function addIssue(world: World, repository: Repository, given: NewIssue): Thread {
  return open(world, repository, given, null)
}

export function addPull(world: World, repository: Repository, given: NewPull): Thread {
  addCommitIfNew(world, repository, given.headSha)
  addCommitIfNew(world, repository, given.baseSha)
  const number = given.number ?? nextNumber(repository)
  repository.pushedAt = given.createdAt ?? world.nowMs()
  return open(
    world,
    repository,
    { ...given, number },
    {
      id: world.nextId(),
      headRef: given.headRef ?? `change-${number}`,
      headSha: given.headSha,
      baseRef: given.baseRef ?? 'main',
      baseSha: given.baseSha,
      draft: given.draft ?? false,
      mergedAt: null,
      files: (given.files ?? defaultFiles(number)).map(pullFileOf),
      reviews: [],
    },
  )
}

function open(world: World, repository: Repository, given: NewIssue, pull: Pull | null): Thread {
  const number = given.number ?? nextNumber(repository)
  if (repository.threads.has(number)) throw new Error(`Number ${number} is already taken.`)
  const createdAt = given.createdAt ?? world.nowMs()
  const thread: Thread = {
    id: world.nextId(),
    repository,
    number,
    pull,
    title: given.title ?? `${pull === null ? 'Issue' : 'Change'} ${number}`,
    body: given.body ?? null,
    author: userNamed(world, given.author ?? 'octocat'),
    state: 'open',
    locked: false,
    labels: (given.labels ?? []).map((name) => labelNamed(world, repository, name)),
    comments: [],
    createdAt,
    updatedAt: createdAt,
    closedAt: null,
    closedBy: null,
  }
  repository.threads.set(number, thread)
  world.countChange()
  emitThreadEvent(world, thread, thread.author, 'opened')
  return thread
}

const nextNumber = ({ threads }: Repository): number => Math.max(0, ...threads.keys()) + 1

/** For tests. */
export function threadNumbered(repository: Repository, number: number): Thread {
  const thread = repository.threads.get(number)
  if (thread !== undefined) return thread
  throw new Error(`There is no issue or pull request ${number}. Add it with addPull or addIssue.`)
}

export function pullOf(thread: Thread): Pull {
  if (thread.pull !== null) return thread.pull
  throw new Error(`${thread.number} is an issue, not a pull request.`)
}

export interface PushOptions {
  readonly by?: string
  readonly force?: boolean
  /** What the pull request changes from now on. If absent, the same as before. */
  readonly files?: readonly NewPullFile[]
}

export function pushTo(world: World, thread: Thread, headSha: string, options: PushOptions): void {
  const pull = pullOf(thread)
  const before = pull.headSha
  const sender = options.by === undefined ? thread.author : userNamed(world, options.by)
  addCommitIfNew(world, thread.repository, headSha)
  pull.headSha = headSha
  if (options.files !== undefined) pull.files = options.files.map(pullFileOf)
  thread.repository.pushedAt = world.nowMs()
  thread.updatedAt = world.nowMs()
  // GitHub points old reviews at the new head when theirs is no longer part of the branch.
  if (options.force === true) for (const review of pull.reviews) review.commitId = headSha
  world.countChange()
  emitEvent(world, thread.repository, sender, 'push', null, () => ({
    ref: `refs/heads/${pull.headRef}`,
    before,
    after: headSha,
    created: false,
    deleted: false,
    forced: options.force ?? false,
    base_ref: null,
    compare: `https://github.com/compare/${before.slice(0, 12)}...${headSha.slice(0, 12)}`,
    commits: [],
    head_commit: null,
    pusher: { name: sender.login, email: null },
  }))
  emitThreadEvent(world, thread, sender, 'synchronize', { before, after: headSha })
}

export function closeThread(
  world: World,
  thread: Thread,
  options: { readonly by?: string; readonly merged?: boolean },
): void {
  if (thread.state === 'closed') return
  const sender = options.by === undefined ? thread.author : userNamed(world, options.by)
  const now = world.nowMs()
  Object.assign(thread, { state: 'closed', closedAt: now, closedBy: sender, updatedAt: now })
  if (options.merged === true) pullOf(thread).mergedAt = now
  world.countChange()
  emitThreadEvent(world, thread, sender, 'closed')
}

export function reopenThread(world: World, thread: Thread, by?: string): void {
  if (thread.state === 'open') return
  const updatedAt = world.nowMs()
  Object.assign(thread, { state: 'open', closedAt: null, closedBy: null, updatedAt })
  world.countChange()
  emitThreadEvent(
    world,
    thread,
    by === undefined ? thread.author : userNamed(world, by),
    'reopened',
  )
}

export interface ThreadEdit {
  readonly title?: string
  readonly body?: string | null
  readonly baseSha?: string
  readonly baseRef?: string
  readonly draft?: boolean
}

export function editThread(world: World, thread: Thread, edit: ThreadEdit, by?: string): void {
  const sender = by === undefined ? thread.author : userNamed(world, by)
  const { title, body, pull } = thread
  if (edit.title !== undefined) thread.title = edit.title
  if (edit.body !== undefined) thread.body = edit.body
  const changes = {
    ...(edit.title !== undefined && { title: { from: title } }),
    ...(edit.body !== undefined && { body: { from: body ?? '' } }),
    ...(pull !== null && editPull(world, thread, pull, edit)),
  }
  thread.updatedAt = world.nowMs()
  world.countChange()
  if (Object.keys(changes).length > 0) emitThreadEvent(world, thread, sender, 'edited', { changes })
  if (pull === null || edit.draft === undefined || edit.draft === pull.draft) return
  pull.draft = edit.draft
  emitThreadEvent(world, thread, sender, pull.draft ? 'converted_to_draft' : 'ready_for_review')
}

function editPull(world: World, thread: Thread, pull: Pull, edit: ThreadEdit): object {
  if (edit.baseSha === undefined && edit.baseRef === undefined) return {}
  const base = { ref: { from: pull.baseRef }, sha: { from: pull.baseSha } }
  if (edit.baseSha !== undefined) addCommitIfNew(world, thread.repository, edit.baseSha)
  pull.baseSha = edit.baseSha ?? pull.baseSha
  pull.baseRef = edit.baseRef ?? pull.baseRef
  return { base }
}

export function setLocked(world: World, thread: Thread, locked: boolean): void {
  if (thread.locked === locked) return
  thread.locked = locked
  world.countChange()
  emitThreadEvent(world, thread, thread.repository.owner, locked ? 'locked' : 'unlocked')
}

function emitThreadEvent(
  world: World,
  thread: Thread,
  sender: User,
  action: string,
  more: object = {},
): void {
  const { repository, number, pull } = thread
  if (pull === null) {
    const issue = () => ({ issue: issueJson(world, thread), ...more })
    return emitEvent(world, repository, sender, 'issues', action, issue)
  }
  emitEvent(world, repository, sender, 'pull_request', action, () => ({
    number,
    pull_request: pullJson(world, thread, pull),
    ...more,
  }))
}
