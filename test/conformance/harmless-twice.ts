/**
 * Verbs that leave and answer the same when they are done twice, and why that is meant: nothing
 * has to be lost for it to happen. `lost-commit-cases.test.ts` shows it of these, and of no other.
 */
export const harmlessTwice: Readonly<Record<string, string>> = {
  refuseIdentity: 'a refusal during a block changes nothing, so ten nodes do not add up theirs',
  confirm: 'what was confirmed is SENT, and SENT is final',
  markerKeys: 'only the first makes a key',
  learnAuthor: 'an account is known or not',
  noteRestore: 'what was noted in doubt is in doubt',
  noteLooked: 'it says when, and the second says the same moment or a later one',
  noteDeliveriesRead: 'it says how far',
  forgetHeadCheck: 'there is nothing left to forget',
  'claimRun, once': 'the key brings back the first answer',
  heartbeatRun: 'a lease that was just renewed is renewed',
  completeRun: 'a repeat by the same holder is answered like its first',
  beat: 'it says when',
  purge: 'it ends at what is past retention, in however many bites',
  placeAudits: 'what has a place keeps it',
  touchToken: 'it says when',
  learnRepository: 'what is known is not learnt again',
  tellRepository: 'what was told is not told again',
  noteQuietLooked: 'it says when, and how far',
  recordMode: 'the first start is written once',
}
