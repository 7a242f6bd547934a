/**
 * Publishes to the simulated GitHub as an App: the announcements of a run, and the run's outputs.
 */
import {
  allRights,
  channelsByName,
  githubDeclarations,
  type ChannelName,
} from '../../../src/channels/github-channels.ts'
import type { Clock } from '../../../src/clock.ts'
import { unannounced, type Announcement } from '../../../src/domain/run.ts'
import { openOutbox } from '../../../src/github-outbox/open-outbox.ts'
import { createGitHubSimulator, type GitHubSimulator } from '../../../src/simulator/index.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { appCredentials, appKeyPem, clientOf } from '../../github/github-under-test.ts'
import { holderOf, policy, pullRequestClaim } from '../claims.ts'
import { second, type OpenStore } from '../world.ts'
import { channelCases, faultOf, type ChannelCase } from './channel-cases.ts'
import { repo, sha, thread } from './channel-world.ts'
import { PublisherWorld, type Receiver } from './publisher-world.ts'
import type { PublishedCase } from './publisher.suite.ts'

interface GitHubReceiver extends Receiver {
  readonly github: GitHubSimulator
}

type GitHubWorld = PublisherWorld<GitHubReceiver>

function gitHubReceiver(clock: Clock): GitHubReceiver {
  const app = { id: 12, slug: 'holdfast-bot', privateKey: appKeyPem }
  const github = createGitHubSimulator({ clock, app })
  github.addRepository(repo)
  github.addPull(repo, { number: thread, headSha: sha, baseSha: 'b'.repeat(40) })
  const connect = () => {
    const options = { clock, fetch: github.fetch, credentials: appCredentials }
    return clientOf('https://api.github.test', options).github
  }
  return {
    github,
    channels: githubDeclarations,
    publisher: (parts) => openOutbox({ ...parts, github: connect() }),
  }
}

async function openGitHubWorld(open: OpenStore): Promise<GitHubWorld> {
  const world = await PublisherWorld.open(open, gitHubReceiver)
  // Records the repository's id as an event does, so that the first write needs no question.
  const { id } = world.receiver.github.repository(repo)
  await world.store.repositories.learn(repo, id, 'now', 'test')
  return world
}

async function claim({ store }: GitHubWorld, announcement: Announcement): Promise<ClaimAnswer> {
  const names = { repo, pr: thread, head: 'the head' }
  // Younger than the store, so Holdfast looks for nothing before the first write.
  const threadCreatedAt = store.now() + second
  const over = { headSha: sha, threadCreatedAt, policy: { ...policy, announcement } }
  return await store.runs.claim(pullRequestClaim(names, over), null)
}

async function publish(world: GitHubWorld, channel: ChannelName, given: unknown): Promise<void> {
  const { runId, leaseHash, actor } = holderOf(await claim(world, unannounced))
  const content = given as Readonly<Record<string, unknown>>
  const output = { name: 'the-one', channel, content, rightsOf: () => allRights }
  await world.store.outbox.publish({ runId, leaseHash, actor, ...output }, null)
}

const copiesOf: Record<ChannelName, PublishedCase<GitHubReceiver>['copies']> = {
  'github-comment': 'removed',
  'github-label': 'none',
  'github-status': 'stay',
  'github-check': 'stay',
  'github-review': 'stay',
}

const ownOutput = (each: ChannelCase): PublishedCase<GitHubReceiver> => ({
  title: each.name,
  inDoubt: channelsByName.of(each.name).inDoubt.policy,
  open: openGitHubWorld,
  want: (world) => publish(world, each.name, each.first),
  asked: ({ github }) => github.count(each.route),
  there: ({ github }) => each.there(github),
  play: ({ github }, fault) => {
    const played = fault === 'delay' ? github.faults.delayedCommit() : faultOf(github, fault)
    return github.faults.add({ on: { route: each.route }, fault: played })
  },
  copies: copiesOf[each.name],
})

const outputs = channelCases.map(ownOutput)
const anchor: PublishedCase<GitHubReceiver> = {
  ...outputs[0]!,
  title: 'the anchor',
  want: async (world) => {
    await claim(world, { ...unannounced, anchorPer: 'subject' })
  },
}

export const gitHubCases: readonly PublishedCase<GitHubReceiver>[] = [anchor, ...outputs]
