/**
 * What people do on the simulated GitHub: tests act in their place. These actions are not requests,
 * but observers and hooks get their events.
 */
import { addAccountToken, installFor, uninstallFrom } from './state/apps.ts'
import { rerequestCheckRun } from './state/check-runs.ts'
import { addComment, deleteComment, editComment, isLive, type Comment } from './state/comments.ts'
import { addLabels, labelNamed, removeLabel } from './state/labels.ts'
import {
  addRepository,
  renameRepository,
  repositoryNamed,
  type NewRepository,
  type Role,
} from './state/repositories.ts'
import {
  addIssue,
  addPull,
  closeThread,
  editThread,
  pushTo,
  reopenThread,
  setLocked,
  threadNumbered,
  type NewIssue,
  type NewPull,
  type PushOptions,
  type Thread,
  type ThreadEdit,
} from './state/threads.ts'
import { addUser, userNamed, type UserType } from './state/users.ts'
import type { World } from './state/world.ts'
import {
  toSimulatedComment,
  toSimulatedRepository,
  toSimulatedThread,
  type SimulatedComment,
  type SimulatedRepository,
  type SimulatedThread,
} from './inspection.ts'

/** A repository is named `owner/name`, by its present or a former name. */
export interface GitHubUserActions {
  addRepository(fullName: string, options?: NewRepository): SimulatedRepository
  addUser(login: string, options?: { readonly id?: number; readonly type?: UserType }): void
  /** Adds one more token to an account. */
  addToken(login: string, token: string): void
  addPull(repo: string, given: NewPull): SimulatedThread
  addIssue(repo: string, given?: NewIssue): SimulatedThread
  /** Sets a new head; with `force` old reviews point at it, as on GitHub. */
  push(repo: string, number: number, headSha: string, options?: PushOptions): void
  close(
    repo: string,
    number: number,
    options?: { readonly by?: string; readonly merged?: boolean },
  ): void
  reopen(repo: string, number: number, by?: string): void
  edit(repo: string, number: number, edit: ThreadEdit, by?: string): void
  lock(repo: string, number: number): void
  unlock(repo: string, number: number): void
  rename(repo: string, newFullName: string): void
  /** The bot loses its permission: every request about it is answered 404 until `allow`. */
  restrict(repo: string): void
  allow(repo: string): void
  setRole(repo: string, login: string, role: Role): void
  /** The commit is visible from `visibleAt` on, by the simulator's clock; at once if absent. */
  addCommit(repo: string, sha: string, options?: { readonly visibleAt?: number }): void
  commentAs(login: string, repo: string, number: number, body: string): SimulatedComment
  editCommentAs(login: string, id: number, body: string): void
  deleteCommentAs(login: string, id: number): void
  labelAs(login: string, repo: string, number: number, name: string): void
  unlabelAs(login: string, repo: string, number: number, name: string): void
  /** Somebody presses "Re-run" on a check run. */
  rerequestAs(login: string, checkRunId: number): void
  /** Uninstalls the App from all repositories of this owner. */
  uninstallApp(owner: string): void
  /** Revokes all tokens made so far. */
  expireTokens(): void
}

export function createUserActions(world: World): GitHubUserActions {
  const threadAt = (repo: string, number: number): Thread =>
    threadNumbered(repositoryNamed(world, repo), number)
  const repositoryAt = (repo: string) => repositoryNamed(world, repo)
  return {
    addRepository: (fullName, options = {}) => {
      const repository = addRepository(world, fullName, options)
      for (const name of options.labels ?? []) labelNamed(world, repository, name)
      installFor(world, repository.owner)
      return toSimulatedRepository(repository)
    },
    addUser: (login, options) => void addUser(world, login, options),
    addToken: (login, token) => void addAccountToken(world, userNamed(world, login), token),
    addPull: (repo, given) => toSimulatedThread(addPull(world, repositoryAt(repo), given)),
    addIssue: (repo, given = {}) => toSimulatedThread(addIssue(world, repositoryAt(repo), given)),
    push: (repo, number, headSha, options = {}) =>
      pushTo(world, threadAt(repo, number), headSha, options),
    close: (repo, number, options = {}) => closeThread(world, threadAt(repo, number), options),
    reopen: (repo, number, by) => reopenThread(world, threadAt(repo, number), by),
    edit: (repo, number, edit, by) => editThread(world, threadAt(repo, number), edit, by),
    lock: (repo, number) => setLocked(world, threadAt(repo, number), true),
    unlock: (repo, number) => setLocked(world, threadAt(repo, number), false),
    rename: (repo, newFullName) => {
      const repository = repositoryAt(repo)
      renameRepository(world, repository, newFullName)
      installFor(world, repository.owner)
    },
    restrict: (repo) => void (repositoryAt(repo).restricted = true),
    allow: (repo) => void (repositoryAt(repo).restricted = false),
    setRole: (repo, login, role) =>
      void repositoryAt(repo).roles.set(userNamed(world, login).login.toLowerCase(), role),
    addCommit: (repo, sha, { visibleAt } = {}) =>
      void repositoryAt(repo).commits.set(sha, visibleAt ?? world.nowMs()),
    ...createCommentActions(world, threadAt),
    labelAs: (login, repo, number, name) =>
      addLabels(world, threadAt(repo, number), [name], userNamed(world, login)),
    unlabelAs: (login, repo, number, name) =>
      void removeLabel(world, threadAt(repo, number), name, userNamed(world, login)),
    rerequestAs: (login, id) => {
      const run = world.checkRuns.get(id)
      if (run === undefined) throw new Error(`There is no check run ${id}.`)
      rerequestCheckRun(world, run, userNamed(world, login))
    },
    uninstallApp: (owner) => uninstallFrom(world, userNamed(world, owner)),
    expireTokens: () => {
      for (const token of world.tokens.values()) token.revoked = true
    },
  }
}

function createCommentActions(
  world: World,
  threadAt: (repo: string, number: number) => Thread,
): Pick<GitHubUserActions, 'commentAs' | 'editCommentAs' | 'deleteCommentAs'> {
  const liveComment = (id: number): Comment => {
    const comment = world.comments.get(id)
    if (comment !== undefined && isLive(comment)) return comment
    throw new Error(`There is no comment ${id}.`)
  }
  return {
    commentAs: (login, repo, number, body) =>
      toSimulatedComment(addComment(world, threadAt(repo, number), userNamed(world, login), body)),
    editCommentAs: (login, id, body) =>
      editComment(world, liveComment(id), userNamed(world, login), body),
    deleteCommentAs: (login, id) => deleteComment(world, liveComment(id), userNamed(world, login)),
  }
}
