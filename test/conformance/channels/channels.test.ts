/** The conformance suite of channels, against the simulated GitHub, as an App and as a user. */
import { asAnyChannel, channelCases, type ChannelCase } from './channel-cases.ts'
import { exerciseComments } from './channel-comment.suite.ts'
import { exerciseKinds } from './channel-kinds.suite.ts'
import { exerciseMarked } from './channel-marked.suite.ts'
import { exerciseOnGitHub } from './channel-github.suite.ts'
import { exerciseChannel } from './channel.suite.ts'
import type { Identity, Way } from './channel-world.ts'

function exercise(each: ChannelCase, identity: Identity, way: Way): void {
  exerciseChannel(asAnyChannel(each, identity, way))
  exerciseOnGitHub(each, identity, way)
}

for (const each of channelCases) {
  for (const identity of each.identities) exercise(each, identity, 'in the process')
  exercise(each, 'app', 'over HTTP')
  if (each.name !== 'github-comment' && each.name !== 'github-review') continue
  for (const identity of each.identities) exerciseMarked(each, identity)
}
exerciseComments('app')
exerciseComments('user')
exerciseKinds()
